/* zlib as Swift sees it, and the call of it that Swift can't import: a macro. No logic lives here. */
#ifndef FLUXBUS_CZLIB_H
#define FLUXBUS_CZLIB_H

#include <zlib.h>

/* Begins a stream with gzip's header instead of zlib's, as HTTP has it. */
static inline int zlib_begin_gzip(z_stream *stream) {
    return deflateInit2(stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

#endif
