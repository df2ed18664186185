/* How long a read of a map takes, while others write: map_cost SOCKET TYPE STORE READS [FOR]. It prints the nanoseconds of a read and how often
 * the state was another one, and counts what must never be: states that are no whole text, and revisions that go back. It goes on until it
 * has seen so many states (FOR). */
#define _GNU_SOURCE
#include <fluxbus-map.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char **words) {
    fluxbus_map map;
    char answer[4096], state[4096];
    if (count < 5 || fluxbus_map_open(&map, words[1], words[2], answer, sizeof answer) != 0)
        return fprintf(stderr, "There is no map: %s %s\n", answer, strerror(errno)), 69;
    unsigned long most = strtoul(words[4], NULL, 10), wanted = count > 5 ? strtoul(words[5], NULL, 10) : 0;
    unsigned long reads = 0, changes = 0, torn = 0, backward = 0;
    uint64_t last = 0;
    size_t name = strlen(words[3]);
    double began = now();
    for (; reads < most || changes < wanted; reads++) {
        size_t length = 0;
        uint64_t revision = 0;
        fluxbus_map_answer found = fluxbus_map_read(&map.view, words[3], name, state, sizeof state, &length, &revision);
        if (found != fluxbus_map_answer_state) return fprintf(stderr, "answer %d\n", (int)found), 1;
        if (revision == last) continue;
        changes++;
        if (revision < last) backward++;
        last = revision;
        if (state[0] != '{' || state[length - 1] != '}' || memchr(state, 0, length)) torn++;
    }
    double took = now() - began;
    printf("%.1f ns a read, %lu reads, %lu changes, %lu torn, %lu backward\n", took / (double)reads, reads, changes, torn, backward);
    fluxbus_map_close(&map);
    return torn + backward > 0;
}
