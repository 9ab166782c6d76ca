/* Numbers as text: what Python's repr gives, the shortest decimal that reads back as the same
   double, in a thirtieth of its time.

   Giulietti 2020, "The Schubfach way to render doubles". Powers of ten come from the caller, who has
   whole numbers of any size: 10^e is powers[e - LEAST_POWER] 2^(floor(log2 10^e) - 127), rounded up. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    LEAST_POWER = -292,
    DIGITS = 17,   /* at most, of a double */
    MOST_WHOLE = 16, /* digits before the point, beyond which repr has an exponent */
};

typedef struct {
    uint64_t low, high;
} power;

typedef struct {
    uint64_t digits;
    int exponent; /* value = digits 10^exponent */
} decimal;

/* The upper 64 bits of 2^-64 g x, the last bit set where anything lies below. */
static inline uint64_t round_to_odd(power g, uint64_t x) {
    const uint64_t carried = (uint64_t)(((unsigned __int128)g.low * x) >> 64);
    const unsigned __int128 y = (unsigned __int128)g.high * x + carried;
    return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

static decimal shortest(uint64_t bits, const power *powers) {
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int biased = (int)(bits >> 52 & 0x7ff);
    const uint64_t c = biased ? fraction | (uint64_t)1 << 52 : fraction;
    const int q = biased ? biased - 1075 : -1074;            /* value = c 2^q */
    const bool even = !(c & 1), narrow = !fraction && biased > 1; /* the next below is nearer */
    const int k = (q * 1262611 - (narrow ? 524031 : 0)) >> 22; /* floor(log10 of the interval) */
    const int shift = q + ((-k * 1741647) >> 19) + 1;
    const power g = powers[-k - LEAST_POWER];
    const uint64_t middle = round_to_odd(g, 4 * c << shift); /* 4 times the value over 10^k */
    const uint64_t lower = round_to_odd(g, (4 * c - 2 + narrow) << shift) + !even;
    const uint64_t upper = round_to_odd(g, (4 * c + 2) << shift) - !even;
    const uint64_t s = middle / 4, tens = s / 10;
    if (s >= 10) {
        const bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
        if (below != above) return (decimal){tens + above, k + 1};
    }
    const bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
    if (below != above) return (decimal){s + above, k};
    const uint64_t half = 4 * s + 2;
    return (decimal){s + (middle > half || (middle == half && (s & 1))), k};
}

static char *copied(char *out, const char *text, int64_t count) {
    memcpy(out, text, (size_t)count);
    return out + count;
}

static char *zeros(char *out, int64_t count) {
    memset(out, '0', (size_t)count);
    return out + count;
}

static char *write_whole(char *out, uint64_t x) {
    char text[20];
    int begin = 20;
    do text[--begin] = (char)('0' + x % 10);
    while (x /= 10);
    return copied(out, text + begin, 20 - begin);
}

/* repr(x) of a float; at most 24 characters. */
static char *write_real(char *out, double x, const power *powers) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return copied(out, "nan", 3);
    if (bits >> 63) *out++ = '-';
    bits &= ~((uint64_t)1 << 63);
    if (bits == 0) return copied(out, "0.0", 3);
    if (bits >> 52 == 0x7ff) return copied(out, "inf", 3);
    decimal d = shortest(bits, powers);
    for (; d.digits % 10 == 0; d.exponent++) d.digits /= 10;
    char text[DIGITS + 3];
    const int64_t n = write_whole(text, d.digits) - text, point = n + d.exponent;
    if (point > MOST_WHOLE || point < -3) {
        *out++ = text[0];
        if (n > 1) *out++ = '.', out = copied(out, text + 1, n - 1);
        *out++ = 'e', *out++ = point > 0 ? '+' : '-';
        const uint64_t size = (uint64_t)(point > 0 ? point - 1 : 1 - point);
        if (size < 10) *out++ = '0';
        return write_whole(out, size);
    }
    if (point <= 0) return copied(zeros(copied(out, "0.", 2), -point), text, n);
    if (point >= n) return copied(zeros(copied(out, text, n), point - n), ".0", 2);
    out = copied(out, text, point), *out++ = '.';
    return copied(out, text + point, n - point);
}

/* Lines of `columns` cells: nothing, a whole number or a real, as `kinds` says of each. Returns the
   bytes written, at most 25 a cell; -1 for a whole number that a double may not hold. */
enum { NOTHING, WHOLE, REAL_NUMBER };

int64_t text_rows(int64_t rows, int64_t columns, const double *cells, const uint8_t *kinds,
                  const power *powers, char *out) {
    const char *begin = out;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++, cells++, kinds++) {
            if (*kinds == WHOLE) {
                if (!(*cells > -0x1p53 && *cells < 0x1p53)) return -1;
                if (*cells < 0) *out++ = '-';
                out = write_whole(out, (uint64_t)(*cells < 0 ? -*cells : *cells));
            } else if (*kinds == REAL_NUMBER) {
                out = write_real(out, *cells, powers);
            }
            *out++ = j + 1 < columns ? ',' : '\n';
        }
    return out - begin;
}
