// Looks at 64 bytes at once. Swift has no name for the instructions that gather one bit of each byte.
#ifndef CScan_h
#define CScan_h

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Which of 64 bytes are quotes (`"`), and which of the others can't stand in a JSON string of plain ASCII as they are:
/// backslashes, control characters, and bytes beyond ASCII. The first byte is the lowest bit.
struct scan_marks {
    uint64_t quotes;
    uint64_t odd;
};

#if !defined(__SSE2__)
/// The high bit of each byte of a word, gathered: the first byte's is the lowest.
static inline uint64_t scan_gather(uint64_t word) {
    return ((word & 0x8080808080808080) >> 7) * 0x0102040810204080 >> 56;
}

/// The high bit of each byte that is 0, exactly.
static inline uint64_t scan_zeros(uint64_t word) {
    return ~(((word & 0x7f7f7f7f7f7f7f7f) + 0x7f7f7f7f7f7f7f7f) | word | 0x7f7f7f7f7f7f7f7f);
}
#endif

/// Has the processor fetch the cache line of an address that will be looked at soon.
static inline void scan_prefetch(const void *address) {
    __builtin_prefetch(address);
}

static inline struct scan_marks scan_64(const uint8_t *bytes) {
    struct scan_marks marks = {0, 0};
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(' ');
    for (int part = 0; part < 4; part++) {
        __m128i some = _mm_loadu_si128((const __m128i *)(bytes + 16 * part));
        // As signed numbers, bytes beyond ASCII are less than a space, as control characters are.
        __m128i odd = _mm_or_si128(_mm_cmpeq_epi8(some, backslash), _mm_cmplt_epi8(some, space));
        marks.quotes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(some, quote)) << (16 * part);
        marks.odd |= (uint64_t)(uint32_t)_mm_movemask_epi8(odd) << (16 * part);
    }
#else
    const uint64_t ones = 0x0101010101010101;
    for (int part = 0; part < 8; part++) {
        uint64_t word = 0;
        for (int place = 0; place < 8; place++) word |= (uint64_t)bytes[8 * part + place] << (8 * place);
        uint64_t control = scan_zeros(word & (ones * 0xe0));
        uint64_t odd = scan_zeros(word ^ (ones * '\\')) | control | word;
        marks.quotes |= scan_gather(scan_zeros(word ^ (ones * '"'))) << (8 * part);
        marks.odd |= scan_gather(odd) << (8 * part);
    }
#endif
    return marks;
}

/// How many of some bytes open an array or an object, and how many are commas.
struct scan_counts {
    long opening;
    long commas;
};

static inline struct scan_counts scan_count(const uint8_t *bytes, long count) {
    struct scan_counts counts = {0, 0};
    long place = 0;
#if defined(__SSE2__)
    // An opening bracket and brace differ in one bit.
    const __m128i brace = _mm_set1_epi8('{'), comma = _mm_set1_epi8(','), bit = _mm_set1_epi8(0x20);
    while (count - place >= 16) {
        // Each byte of the sums counts the matches in its place.
        __m128i opening = _mm_setzero_si128(), commas = opening;
        const long most = place + 255 * 16, end = count - 16 < most ? count - 16 : most - 16;
        for (; place <= end; place += 16) {
            const __m128i some = _mm_loadu_si128((const __m128i *)(bytes + place));
            opening = _mm_sub_epi8(opening, _mm_cmpeq_epi8(_mm_or_si128(some, bit), brace));
            commas = _mm_sub_epi8(commas, _mm_cmpeq_epi8(some, comma));
        }
        __m128i sum = _mm_sad_epu8(opening, _mm_setzero_si128());
        counts.opening += _mm_cvtsi128_si64(sum) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum));
        sum = _mm_sad_epu8(commas, _mm_setzero_si128());
        counts.commas += _mm_cvtsi128_si64(sum) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum));
    }
    if (place > 0 && place < count) {
        // The last 16 bytes, without those that are counted.
        const __m128i some = _mm_loadu_si128((const __m128i *)(bytes + count - 16));
        const unsigned left = 0xffffu << (16 - (count - place)) & 0xffffu;
        counts.opening += __builtin_popcount(
            (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_or_si128(some, bit), brace)) & left);
        counts.commas += __builtin_popcount((unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(some, comma)) & left);
        return counts;
    }
#endif
    for (; place < count; place++) {
        counts.opening += (bytes[place] | 0x20) == '{';
        counts.commas += bytes[place] == ',';
    }
    return counts;
}

/// The same as scan_64 for 1 to 63 bytes: those behind the last count as odd.
static inline struct scan_marks scan_fewer(const uint8_t *bytes, long count) {
    uint8_t block[64] = {0};
    memcpy(block, bytes, (size_t)count);
    return scan_64(block);
}

/// The same for the last bytes of at least 64, which end where `end` points: nothing has to be copied.
static inline struct scan_marks scan_last(const uint8_t *end, long count) {
    struct scan_marks marks = scan_64(end - 64);
    marks.quotes >>= 64 - count;
    marks.odd = marks.odd >> (64 - count) | ~(uint64_t)0 << count;
    return marks;
}

#endif
