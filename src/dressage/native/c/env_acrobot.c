/* gymnasium/envs/classic_control/acrobot.py, AcrobotEnv (book). All masses, lengths and moments
   of inertia are 1, the centres of mass at 0.5. */
#include "env.h"

static const double dt = 0.2, max_vel_1 = 4 * PI, max_vel_2 = 9 * PI, g = 9.8;
static const double m1 = 1.0, m2 = 1.0, l1 = 1.0, lc1 = 0.5, lc2 = 0.5, I1 = 1.0, I2 = 1.0;

/* numpy's own cos and sin of a float32 (loops_trigonometric.dispatch.cpp) for |x| < pi / 4: only
   the state after a reset is float32. */
static float numpy_cos_f32(float x) {
    float x2 = x * x, r = fmaf(0x1.98e616p-16f, x2, -0x1.6c06dcp-10f);
    r = fmaf(r, x2, 0x1.55553cp-05f);
    r = fmaf(r, x2, -0x1.000000p-01f);
    return fmaf(r, x2, 0x1.000000p+00f);
}

static float numpy_sin_f32(float x) {
    float x2 = x * x, r = fmaf(0x1.7d3bbcp-19f, x2, -0x1.a06bbap-13f);
    r = fmaf(r, x2, 0x1.11119ap-07f);
    r = fmaf(r, x2, -0x1.555556p-03f);
    return fmaf(r * x2, x, x);
}

static void reset(const env_rows *rows, pcg64 *rng, float *obs) {
    float state[4];
    for (int k = 0; k < 4; k++) {
        state[k] = (float)pcg64_uniform(rng, -0.1, 0.1);
        *rows->state[k] = state[k];
    }
    obs[0] = numpy_cos_f32(state[0]), obs[1] = numpy_sin_f32(state[0]);
    obs[2] = numpy_cos_f32(state[1]), obs[3] = numpy_sin_f32(state[1]);
    obs[4] = state[2], obs[5] = state[3];
}

static void dsdt(const double s[4], double a, double out[4]) {
    double theta1 = s[0], theta2 = s[1], dtheta1 = s[2], dtheta2 = s[3];
    double cos2 = cos(theta2), sin2 = sin(theta2);
    double d1 =
        m1 * (lc1 * lc1) + m2 * (l1 * l1 + lc2 * lc2 + 2 * l1 * lc2 * cos2) + I1 + I2;
    double d2 = m2 * (lc2 * lc2 + l1 * lc2 * cos2) + I2;
    double phi2 = m2 * lc2 * g * cos(theta1 + theta2 - PI / 2.0);
    double phi1 = -m2 * l1 * lc2 * numpy_square(dtheta2) * sin2 -
                  2 * m2 * l1 * lc2 * dtheta2 * dtheta1 * sin2 +
                  (m1 * lc1 + m2 * l1) * g * cos(theta1 - PI / 2) + phi2;
    double ddtheta2 =
        (a + d2 / d1 * phi1 - m2 * l1 * lc2 * numpy_square(dtheta1) * sin2 - phi2) /
        (m2 * (lc2 * lc2) + I2 - numpy_square(d2) / d1);
    out[0] = dtheta1;
    out[1] = dtheta2;
    out[2] = -(d2 * ddtheta2 + phi1) / d1;
    out[3] = ddtheta2;
}

static void rk4(double y[4], double torque) {
    double k1[4], k2[4], k3[4], k4[4], between[4];
    dsdt(y, torque, k1);
    for (int k = 0; k < 4; k++) between[k] = y[k] + dt / 2.0 * k1[k];
    dsdt(between, torque, k2);
    for (int k = 0; k < 4; k++) between[k] = y[k] + dt / 2.0 * k2[k];
    dsdt(between, torque, k3);
    for (int k = 0; k < 4; k++) between[k] = y[k] + dt * k3[k];
    dsdt(between, torque, k4);
    for (int k = 0; k < 4; k++)
        y[k] = y[k] + dt / 6.0 * (k1[k] + 2 * k2[k] + 2 * k3[k] + k4[k]);
}

static double wrap(double x) {
    while (x > PI) x = x - (PI - -PI);
    while (x < -PI) x = x + (PI - -PI);
    return x;
}

static void step(const env_rows *rows, const float *restrict action, float *restrict next_obs,
                 double *restrict reward, uint8_t *restrict terminated) {
    for (int64_t i = 0; i < rows->count; i++) {
        double s[4] = {rows->state[0][i], rows->state[1][i], rows->state[2][i], rows->state[3][i]};
        rk4(s, action[i] - 1.0f);
        s[0] = wrap(s[0]);
        s[1] = wrap(s[1]);
        s[2] = clip(s[2], -max_vel_1, max_vel_1);
        s[3] = clip(s[3], -max_vel_2, max_vel_2);
        for (int k = 0; k < 4; k++) rows->state[k][i] = s[k];
        double cos1 = cos(s[0]);
        terminated[i] = -cos1 - cos(s[1] + s[0]) > 1.0;
        reward[i] = terminated[i] ? 0.0 : -1.0;
        float *obs = next_obs + 6 * i;
        obs[0] = (float)cos1, obs[1] = (float)sin(s[0]);
        obs[2] = (float)cos(s[1]), obs[3] = (float)sin(s[1]);
        obs[4] = (float)s[2], obs[5] = (float)s[3];
    }
}

const env_kind env_acrobot = {
    .state_size = 4, .obs_size = 6, .n_actions = 3, .reset = reset, .step = step};
