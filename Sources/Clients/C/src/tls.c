/* TLS over memory, by OpenSSL; without it (`make TLS=no`) an address that needs it is refused. */
#define _GNU_SOURCE
#include "loop.h"

#include <stdlib.h>

#ifdef FLUXBUS_TLS

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct tls {
    SSL *ssl;
    BIO *in, *out;
};

static char *reason(const char *what) {
    unsigned long code = ERR_get_error();
    const char *why = ERR_reason_error_string(code);
    ERR_clear_error();
    return sentence("%s: %s", what, why ? why : "the reason is unknown");
}

static SSL_CTX *context(const tls_files *files, char **message) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    char *wrong = NULL;
    const char *key = files->key ? files->key : files->cert;
    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) wrong = reason("TLS can't be used");
    else if ((files->ca ? SSL_CTX_load_verify_locations(context, files->ca, NULL) : SSL_CTX_set_default_verify_paths(context)) != 1)
        wrong = reason("the file of authorities can't be used");
    else if (files->cert && SSL_CTX_use_certificate_chain_file(context, files->cert) != 1)
        wrong = reason("the certificate can't be used");
    else if (files->cert && SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) wrong = reason("the key can't be used");
    if (!wrong) return context;
    SSL_CTX_free(context);
    *message = wrong;
    return NULL;
}

tls *tls_start(const tls_files *files, const char *host, char **message) {
    unsigned char number[16];
    bool is_number = inet_pton(AF_INET, host, number) == 1 || inet_pton(AF_INET6, host, number) == 1;
    SSL_CTX *made = context(files, message);
    if (!made) return NULL;
    tls *tls = allocate(sizeof *tls);
    *tls = (struct tls){SSL_new(made), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem())};
    SSL_CTX_free(made);
    if (!tls->ssl || !tls->in || !tls->out) abort();
    BIO_set_mem_eof_return(tls->in, -1);
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_connect_state(tls->ssl);
    SSL_set_verify(tls->ssl, SSL_VERIFY_PEER, NULL);
    SSL_set_mode(tls->ssl, SSL_MODE_AUTO_RETRY);
    bool is_set = is_number ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), host) == 1
                            : SSL_set1_host(tls->ssl, host) == 1 && SSL_set_tlsext_host_name(tls->ssl, host) == 1;
    if (is_set) return tls;
    *message = reason("the name of the host can't be used");
    tls_free(tls);
    return NULL;
}

void tls_free(tls *tls) {
    if (!tls) return;
    SSL_free(tls->ssl);
    free(tls);
}

void tls_take(tls *tls, const void *bytes, size_t length) { BIO_write(tls->in, bytes, (int)length); }

static bool wants_more(tls *tls, int result) {
    int error = SSL_get_error(tls->ssl, result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

int tls_handshake(tls *tls, char **message, bool *is_untrusted) {
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    if (result == 1) return 1;
    if (wants_more(tls, result)) return 0;
    long verdict = SSL_get_verify_result(tls->ssl);
    *is_untrusted = verdict != X509_V_OK;
    *message = *is_untrusted ? copy_text(X509_verify_cert_error_string(verdict)) : reason("the handshake failed");
    return -1;
}

long tls_read(tls *tls, void *bytes, size_t length) {
    ERR_clear_error();
    int result = SSL_read(tls->ssl, bytes, (int)length);
    return result > 0 ? result : wants_more(tls, result) ? 0 : -1;
}

bool tls_write(tls *tls, const void *bytes, size_t length) {
    ERR_clear_error();
    return SSL_write(tls->ssl, bytes, (int)length) == (int)length;
}

const void *tls_outgoing(tls *tls, size_t *length) {
    char *bytes = NULL;
    long there = BIO_get_mem_data(tls->out, &bytes);
    *length = there > 0 ? (size_t)there : 0;
    return bytes;
}

void tls_sent(tls *tls, size_t length) {
    char gone[4096];
    while (length) {
        int part = BIO_read(tls->out, gone, (int)(length < sizeof gone ? length : sizeof gone));
        if (part <= 0) return;
        length -= (size_t)part;
    }
}

#else

tls *tls_start(const tls_files *files, const char *host, char **message) {
    (void)files, (void)host;
    *message = copy_text("this libfluxbus was built without OpenSSL; use one that has it");
    return NULL;
}

void tls_free(tls *tls) { (void)tls; }
void tls_take(tls *tls, const void *bytes, size_t length) { (void)tls, (void)bytes, (void)length; }
int tls_handshake(tls *tls, char **message, bool *is_untrusted) { return (void)tls, (void)message, (void)is_untrusted, -1; }
long tls_read(tls *tls, void *bytes, size_t length) { return (void)tls, (void)bytes, (void)length, -1; }
bool tls_write(tls *tls, const void *bytes, size_t length) { return (void)tls, (void)bytes, (void)length, false; }
const void *tls_outgoing(tls *tls, size_t *length) { return (void)tls, *length = 0, NULL; }
void tls_sent(tls *tls, size_t length) { (void)tls, (void)length; }

#endif
