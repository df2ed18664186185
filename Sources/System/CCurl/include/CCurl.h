/* libcurl as Swift sees it, and the calls of it that Swift can't import: those with variable arguments. Everything is a
 * thin call. The library itself is loaded by the first call (CCurl.c). */
#ifndef FLUXBUS_CCURL_H
#define FLUXBUS_CCURL_H

/* Its checks of types are macros around those calls. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/* Why libcurl can't be loaded; null: it is. Loads it. */
const char *curl_absence(void);

typedef size_t (*curl_receiver)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode curl_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curl_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curl_set_headers(CURL *easy, struct curl_slist *headers) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}
static inline CURLcode curl_set_receiver(CURL *easy, curl_receiver receiver, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receiver);
    return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_WRITEDATA, context) : code;
}
static inline long curl_number(CURL *easy, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}
static inline curl_off_t curl_size(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}

/* What a receiver returns so as to get the same bytes later. */
static const size_t curl_receive_later = CURL_WRITEFUNC_PAUSE;

/* The next transfer that has ended, with what came of it; null: none. */
static inline CURL *curl_multi_ended(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return (CURL *)0;
}

#endif
