/* Updates from a replay memory in one call, on one or more threads. */
#include "off_policy.h"

#include <math.h>

#include "off_choices.h"
#include "simd.h"

static int place_part(off_job *j, int part, arena *memory) {
    trained *p = &j->parts[part];
    p->part = &j->o->parts[part];
    if (!p->part->parameters) return 0;
    if (tower_init(&p->net, &p->part->shape)) return -1;
    tower_place(&p->net, j->o->batch_size, true, &p->rows, memory);
    p->n_pieces = tower_pieces(&p->net, NULL);
    p->pieces = TAKE(memory, tower_piece, p->n_pieces);
    p->gradient = TAKE(memory, real, p->net.size);
    p->before = TAKE(memory, real, p->net.size);
    return 0;
}

static void place_worker(const off_job *j, off_worker *w, arena *memory) {
    const tower *critic = &j->parts[CRITIC].net, *actor = &j->parts[ACTOR].net;
    const int64_t actions = ROW_BLOCK * j->o->memory.action_size;
    w->next = TAKE(memory, real, ROW_BLOCK * j->observed_stride);
    tower_place(critic, ROW_BLOCK, false, &w->critic, memory);
    if (of_choices(j->o)) {
        w->atoms = TAKE(memory, real, ATOM_ROWS * padded(j->o->atoms));
        return;
    }
    w->acted = TAKE(memory, real, ROW_BLOCK * j->input_stride);
    tower_place(actor, ROW_BLOCK, false, &w->actor, memory);
    tower_place(critic, ROW_BLOCK, true, &w->chosen, memory);
    w->dx = TAKE(memory, real, ROW_BLOCK * j->input_stride);
    w->action_gradient = TAKE(memory, real, actions);
    w->share = TAKE(memory, real, ROW_BLOCK * critic->shape.members);
    if (j->o->family == OFF_TQC)
        w->quantiles =
            TAKE(memory, real, ROW_BLOCK * critic->shape.members * tower_outputs(critic));
    w->noise = TAKE(memory, float, actions + 8);
}

static bool choices_make_sense(const off_policy *o) {
    if (o->n_choices < 1 || o->n_choices > MOST_CHOICES || o->atoms < 1) return false;
    if (o->family == OFF_C51 && (o->atoms < 2 || !(o->v_min < o->v_max))) return false;
    int64_t total = 0;
    for (int c = 0; c < o->n_choices; c++) total += o->categories[c];
    const int32_t *outputs = o->parts[CRITIC].shape.outputs;
    return outputs[0] == total * o->atoms && outputs[1] == (o->dueling ? o->atoms : 0);
}
static bool is_soft(const off_policy *o) { return o->family == OFF_SAC || o->family == OFF_TQC; }

static bool makes_sense(const off_policy *o) {
    const replay *m = &o->memory;
    if (o->family < 0 || o->family >= OFF_FAMILIES || o->batch_size < 1 || o->updates < 0)
        return false;
    if (of_choices(o) ? !choices_make_sense(o) : !o->parts[ACTOR].parameters) return false;
    if (o->family == OFF_TD3 && (o->actor_every < 1 || !o->parts[ACTOR].target)) return false;
    if (is_soft(o) && o->learn_alpha && !o->parts[TEMPERATURE].parameters) return false;
    if (o->family == OFF_TQC &&
        (o->dropped < 0 || o->dropped >= o->parts[CRITIC].shape.outputs[0]))
        return false;
    if (!o->parts[CRITIC].parameters || !o->parts[CRITIC].target) return false;
    if (o->n_threads > MOST_THREADS) return false;
    return m->capacity > 0 && m->n_envs > 0 && m->high >= m->low && m->n_step > 0;
}

static int64_t widest(const off_job *j) {
    int64_t most = 0;
    for (int part = 0; part < TEMPERATURE; part++)
        for (int l = 0; l < j->parts[part].net.layers; l++) {
            const int64_t out = j->parts[part].net.layer[l].out;
            most = out > most ? out : most;
        }
    return most;
}

/* By the size of the batch alone: weights are read once a block, and two threads need two. */
static int64_t block_size(int64_t batch) {
    return batch < 4 * ROW_BLOCK ? ROW_BLOCK / 2 : ROW_BLOCK;
}

int off_place(off_job *j, arena *memory) {
    const off_policy *o = j->o;
    if (!makes_sense(o)) return -1;
    for (int part = 0; part < TEMPERATURE; part++)
        if (place_part(j, part, memory)) return -1;
    j->parts[TEMPERATURE].part = &j->o->parts[TEMPERATURE];
    j->block_size = block_size(o->batch_size);
    j->n_blocks = (o->batch_size + j->block_size - 1) / j->block_size;
    j->n_threads = o->n_threads < 1 ? 1 : o->n_threads;
    j->input_stride = tower_stride(j->parts[CRITIC].net.shape.inputs);
    j->observed_stride = tower_stride(o->memory.obs_size);
    j->room.places = TAKE(memory, int64_t, o->batch_size);
    j->room.numbers = TAKE(memory, double, o->batch_size);
    j->room.uniform = TAKE(memory, float, o->batch_size);
    j->batch = TAKE(memory, drawn, o->batch_size);
    j->inputs = TAKE(memory, real, o->batch_size * j->input_stride);
    j->observed = TAKE(memory, real, o->batch_size * j->observed_stride);
    j->sums = TAKE(memory, block_sums, j->n_blocks);
    j->sizes = TAKE(memory, double, widest(j));
    if (o->double_q) tower_place(&j->parts[CRITIC].net, o->batch_size, false, &j->second, memory);
    j->workers = TAKE(memory, off_worker, j->n_threads);
    off_worker counted;
    for (int t = 0; t < j->n_threads; t++)
        place_worker(j, j->workers ? &j->workers[t] : &counted, memory);
    return 0;
}

void off_prepare(off_job *j) {
    for (int part = 0; part < PARTS; part++) {
        trained *p = &j->parts[part];
        if (!j->o->adds) part_clear(&j->o->measured[part]);
        if (part == TEMPERATURE || !p->part->parameters) continue;
        tower_pieces(&p->net, p->pieces);
        for (int64_t i = 0; !p->part->transposed && i < p->n_pieces; i++)
            tower_transpose(&p->net, &p->pieces[i], p->part->parameters, p->part->backward);
        p->part->transposed = 1;
    }
    j->parts[CRITIC].x = j->inputs, j->parts[CRITIC].ldx = j->input_stride;
    j->parts[ACTOR].x = j->observed, j->parts[ACTOR].ldx = j->observed_stride;
    j->parts[CRITIC].follows = is_soft(j->o);
    if (j->o->adds) return;
    j->o->values = (value_metrics){.q_max = -INFINITY, .error_max = -INFINITY};
}

static void draw(off_job *j) {
    replay_draw(&j->o->memory, j->o->batch_size, &j->room, j->batch);
    j->o->memory.draws++;
}

/* value_based.learn; `rows`: the algorithm's loss */
static void choices_update(off_job *j, void (*rows)(void *, int, int64_t)) {
    team_share(j->team, j, j->n_blocks, rows);
    const block_sums s = off_sums(j);
    off_measure(j, &s, j->o->n_choices);
    off_step(j, CRITIC);
}

typedef void item(void *about, int thread, int64_t block);

/* sac.update, tqc.update */
static void soft_update(off_job *j, item *critic_rows, item *actor_rows) {
    off_policy *o = j->o;
    off_part *temperature = &o->parts[TEMPERATURE];
    const double log_alpha = o->learn_alpha ? (double)*temperature->parameters : 0;
    j->alpha = (real)(o->learn_alpha ? exp(log_alpha) : o->alpha);
    team_share(j->team, j, j->n_blocks, critic_rows);
    block_sums s = off_sums(j);
    off_measure(j, &s, j->parts[CRITIC].net.shape.members);
    off_step(j, CRITIC);

    team_share(j->team, j, j->n_blocks, actor_rows);
    s = off_sums(j);
    const double rows = (double)o->batch_size, log_prob = s.log_prob / rows;
    o->values.actor_loss += s.actor_loss / rows, o->values.entropy -= log_prob;
    o->values.alpha += (double)j->alpha, o->values.actor_updates++;
    off_step(j, ACTOR);
    if (!o->learn_alpha) return;
    const double error = log_prob + o->target_entropy;
    o->values.alpha_loss -= log_alpha * error;
    off_step_temperature(j, -error);
}

/* td3.update */
static void td3_update(off_job *j) {
    off_policy *o = j->o;
    const bool acts = o->memory.draws % o->actor_every == 0;
    j->parts[CRITIC].follows = j->parts[ACTOR].follows = acts;
    team_share(j->team, j, j->n_blocks, td3_critic_rows);
    block_sums s = off_sums(j);
    off_measure(j, &s, j->parts[CRITIC].net.shape.members);
    off_step(j, CRITIC);
    if (!acts) return;
    team_share(j->team, j, j->n_blocks, td3_actor_rows);
    s = off_sums(j);
    o->values.actor_loss += s.actor_loss / (double)o->batch_size, o->values.actor_updates++;
    off_step(j, ACTOR);
}

void off_measure(off_job *j, const block_sums *s, int64_t values_a_row) {
    value_metrics *v = &j->o->values;
    const double rows = (double)j->o->batch_size, all = rows * (double)values_a_row;
    v->q_mean += s->q / all, v->error_mean += s->error / all, v->loss += s->loss / rows;
    v->disagreement += s->disagreement / rows, v->clipped_atoms += s->clipped / rows;
    v->q_max = larger_of(v->q_max, s->q_max);
    v->error_max = larger_of(v->error_max, s->error_max);
    v->updates++;
}

void off_learn(off_job *j, int64_t updates, bool follows) {
    for (int64_t i = 0; i < updates; i++) {
        draw(j);
        switch (j->o->family) {
        case OFF_DQN: choices_update(j, dqn_rows); break;
        case OFF_QR_DQN: choices_update(j, qr_dqn_rows); break;
        case OFF_C51: choices_update(j, c51_rows); break;
        case OFF_SAC: soft_update(j, sac_critic_rows, sac_actor_rows); break;
        case OFF_TQC: soft_update(j, tqc_critic_rows, tqc_actor_rows); break;
        default: td3_update(j); break;
        }
        if (j->o->memory.priorities)
            replay_feedback(&j->o->memory, j->o->batch_size, &j->room, j->batch);
    }
    const off_part *critic = &j->o->parts[CRITIC];
    if (follows) follow(j->parts[CRITIC].net.size, j->o->tau, critic->parameters, critic->target);
}

void off_last_batch(const off_job *j, int64_t updates) {
    const off_policy *o = j->o;
    for (int64_t i = 0; o->places && updates > 0 && i < o->batch_size; i++) {
        o->places[i] = replay_place(&o->memory, j->batch[i].row, j->batch[i].env);
        o->td_errors[i] = (double)j->batch[i].td_error;
    }
}

int64_t off_policy_bytes(const off_policy *o) {
    off_job j = {.o = (off_policy *)o};
    arena memory = {NULL, 0};
    return off_place(&j, &memory) ? -1 : (int64_t)arena_bytes(&memory);
}

int64_t off_policy_update(off_policy *o, void *memory) {
    off_job j = {.o = o};
    arena a = arena_over(memory);
    if (off_place(&j, &a)) return -1;
    off_prepare(&j);
    j.team = team_take(j.n_threads);
    off_learn(&j, o->updates, o->follow_last);
    team_leave(j.team);
    off_last_batch(&j, o->updates);
    return o->updates;
}
