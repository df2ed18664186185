/* Draws a store of a bus sixty times a second, without asking the bus: map SOCKET TYPE STORE [FRAMES]. */
#define _GNU_SOURCE
#include <fluxbus-map.h>
#include <stdlib.h>
#include <time.h>

int main(int count, char **words) {
    fluxbus_map map;
    char answer[4096], state[4096];
    if (count < 4) return fprintf(stderr, "usage: map SOCKET TYPE STORE [FRAMES]\n"), 64;
    long frames = count > 4 ? strtol(words[4], NULL, 10) : 600;
    uint64_t drawn = 0;
    while (frames > 0) {
        if (fluxbus_map_open(&map, words[1], words[2], answer, sizeof answer) != 0) {
            if (answer[0] == 0 && errno == EAGAIN) continue;
            return fprintf(stderr, "There is no map: %s\n", answer[0] ? answer : strerror(errno)), 69;
        }
        fluxbus_map_answer found = fluxbus_map_answer_none;
        while (frames > 0 && found != fluxbus_map_answer_moved && found != fluxbus_map_answer_ended) {
            size_t length = 0;
            uint64_t revision = 0;
            found = fluxbus_map_read(&map.view, words[3], strlen(words[3]), state, sizeof state, &length, &revision);
            if (found == fluxbus_map_answer_state && revision != drawn) {
                printf("%llu %.*s\n", (unsigned long long)revision, (int)length, state);
                fflush(stdout);
                drawn = revision;
            }
            /* Once a second: a daemon that was killed can't say so in the map. */
            if (--frames % 60 == 0 && !fluxbus_map_is_kept(&map)) break;
            nanosleep(&(struct timespec){.tv_nsec = 1000000000 / 60}, NULL);
        }
        fluxbus_map_close(&map);
    }
    return 0;
}
