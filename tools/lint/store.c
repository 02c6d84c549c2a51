/* SPDX-License-Identifier: MIT */
#include "lint/store.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <pdl/pdl.h>

#include "common/file.h"
#include "common/memory.h"
#include "core/path_text.h"
#include "rtc/cache/files.h"
#include "rtc/directory.h"
#include "rtc/hash.h"

/* The number changes with whatever changes in a file, or in what is asked of a compiler. */
#define BASE "pdl-lint-1"

#define CAPACITY ((uint64_t)512 << 20)

static const int64_t second_ns = 1000000000;

/* Times of files may be as coarse as that: of one that is newer, the contents are compared. */
enum { COARSE_SECONDS = 2 };

/* A file that PTX is made of, looked at once. */
struct fact {
    bool looked, there, hashed;
    uint64_t size;
    int64_t modified_ns;
    struct pdl_rtc_hash hash;
};

struct store {
    int base;
    int64_t began_ns;
    pthread_mutex_t lock; /* of what follows */
    struct pdl_names paths;
    struct fact *items; /* as many as paths, or fewer */
    size_t count, capacity;
    bool written;
};

/* ---- the folder -------------------------------------------------------------------------------*/

struct store *store_open(char **why)
{
    char *folder = NULL;
    char reason[160] = "";
    int base = -1;
    struct timespec now = {0};
    *why = NULL;
    if (pdl_rtc_directory_default(&folder) != PDL_SUCCESS || folder == NULL) {
        return NULL;
    }
    const bool open = pdl_rtc_files_open_base(folder, BASE, true, false, &base, reason,
                                              sizeof(reason)) == PDL_RTC_FILES_OPEN;
    if (!open) {
        *why = format_text("the cache's folder %s cannot be used: %s", PDL_PATH(folder), reason);
    }
    free(folder);
    if (!open) {
        return NULL;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    struct store *const store = allocate(1, sizeof(*store));
    store->base = base;
    store->began_ns = (int64_t)now.tv_sec * second_ns + now.tv_nsec;
    (void)pthread_mutex_init(&store->lock, NULL);
    return store;
}

void store_close(struct store *store)
{
    struct pdl_rtc_file_list list = {0};
    if (store == NULL) {
        return;
    }
    if (store->written && pdl_rtc_files_list(store->base, true, &list, NULL) == 0) {
        if (list.bytes > CAPACITY) {
            (void)pdl_rtc_files_evict(store->base, &list, CAPACITY - CAPACITY / 8, NULL);
        }
        pdl_rtc_files_free(&list);
    }
    (void)close(store->base);
    (void)pthread_mutex_destroy(&store->lock);
    pdl_names_free(&store->paths);
    free(store->items);
    free(store);
}

/* ---- what PTX is made of ----------------------------------------------------------------------*/

static int64_t modified_ns(const struct stat *about)
{
    return (int64_t)about->st_mtim.tv_sec * second_ns + about->st_mtim.tv_nsec;
}

/* Under the lock. */
static struct fact *fact_of(struct store *store, const char *path)
{
    static const struct fact none = {0};
    const uint32_t index = name_index(&store->paths, path);
    while (store->count <= index) {
        APPEND(store, none);
    }
    struct fact *const fact = &store->items[index];
    struct stat about;
    if (!fact->looked) {
        fact->looked = true;
        fact->there = stat(path, &about) == 0 && S_ISREG(about.st_mode);
        fact->size = fact->there ? (uint64_t)about.st_size : 0;
        fact->modified_ns = fact->there ? modified_ns(&about) : 0;
    }
    return fact;
}

/* Likewise; false where the file cannot be read. */
static bool hash_file(struct fact *fact, const char *path)
{
    if (fact->there && !fact->hashed) {
        size_t size = 0;
        char *const bytes = file_read(path, &size);
        fact->there = bytes != NULL && size == fact->size;
        fact->hashed = fact->there;
        if (fact->hashed) {
            fact->hash = pdl_rtc_hash_bytes(bytes, size, PDL_RTC_SEED_TEXT);
        }
        free(bytes);
    }
    return fact->there;
}

/* A file as it was when PTX was made of it. */
struct dependency {
    uint64_t size;
    int64_t modified_ns; /* 0: says nothing */
    struct pdl_rtc_hash hash;
};

static bool is_unchanged(struct store *store, const char *path, const struct dependency *before)
{
    (void)pthread_mutex_lock(&store->lock);
    struct fact *const now = fact_of(store, path);
    bool same = now->there && now->size == before->size;
    if (same && (before->modified_ns == 0 || now->modified_ns != before->modified_ns)) {
        same = hash_file(now, path) && pdl_rtc_hash_equal(now->hash, before->hash);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return same;
}

/* False where the file may have changed while it was compiled. */
static bool take_dependency(struct store *store, const char *path, struct dependency *made)
{
    struct stat about;
    (void)pthread_mutex_lock(&store->lock);
    struct fact *const fact = fact_of(store, path);
    const bool settled =
        hash_file(fact, path) && stat(path, &about) == 0 && (uint64_t)about.st_size == fact->size &&
        modified_ns(&about) == fact->modified_ns && fact->modified_ns < store->began_ns;
    const bool coarse = fact->modified_ns >= store->began_ns - COARSE_SECONDS * second_ns;
    *made = (struct dependency){
        .size = fact->size, .modified_ns = coarse ? 0 : fact->modified_ns, .hash = fact->hash};
    (void)pthread_mutex_unlock(&store->lock);
    return settled;
}

/* ---- a question -------------------------------------------------------------------------------*/

static bool key_of(const struct store_question *question, struct pdl_rtc_key *key)
{
    /* Besides the command, what compilers look for headers in. */
    static const char *const variables[] = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
                                            "NVCC_CCBIN", "CUDA_PATH"};
    struct pdl_rtc_sequence *const sequence = pdl_rtc_sequence_begin();
    *key = (struct pdl_rtc_key){0};
    if (sequence == NULL) {
        return false;
    }
    pdl_rtc_sequence_number(sequence, pdl_version());
    pdl_rtc_sequence_text(sequence, question->directory);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *const value = getenv(variables[i]);
        pdl_rtc_sequence_text(sequence, value != NULL ? value : "");
    }
    for (size_t i = 0; i < question->argv->count; i++) {
        pdl_rtc_sequence_text(sequence, question->argv->items[i]);
    }
    pdl_rtc_sequence_end(sequence, &key->text, &key->check);
    key->compilers = pdl_rtc_hash_short(question->compiler, strlen(question->compiler), 0);
    return true;
}

/* ---- files ------------------------------------------------------------------------------------*/

/* A line with the hash of all that follows it, the question's check and the number of dependencies; a line for each
 * of them; the PTX. */
static const char head_form[] = "%016" PRIx64 "%016" PRIx64 " %016" PRIx64 " %zu\n";

/* Takes a number and the character behind it. */
static bool take_number(const char **at, int base, char behind, uint64_t *number)
{
    char *end = NULL;
    errno = 0;
    *number = strtoull(*at, &end, base);
    const bool taken = end != *at && errno == 0 && *end == behind;
    *at = taken ? end + 1 : *at;
    return taken;
}

/* Likewise a hash, as two numbers of 16 digits. */
static bool take_hash(const char **at, struct pdl_rtc_hash *hash)
{
    char digits[17] = "";
    const char *text = digits;
    if (strnlen(*at, 33) < 33) {
        return false;
    }
    memcpy(digits, *at, 16);
    *at += 16;
    hash->high = strtoull(text, NULL, 16);
    return take_number(at, 16, ' ', &hash->low);
}

static bool take_unchanged(struct store *store, const char **at)
{
    struct dependency before = {0};
    uint64_t modified = 0;
    if (!take_number(at, 10, ' ', &before.size) || !take_number(at, 10, ' ', &modified) ||
        !take_hash(at, &before.hash)) {
        return false;
    }
    before.modified_ns = (int64_t)modified;
    const size_t length = strcspn(*at, "\n");
    char *const path = format_text("%.*s", (int)length, *at);
    const bool same = (*at)[length] == '\n' && is_unchanged(store, path, &before);
    free(path);
    *at += length + 1;
    return same;
}

/* Where the PTX of a file begins; NULL where the file is damaged, or what it was made of has changed. */
static const char *read_entry(struct store *store, const struct pdl_rtc_key *key, const char *bytes,
                              size_t size)
{
    struct pdl_rtc_hash hash = {0};
    uint64_t check = 0;
    uint64_t count = 0;
    const char *at = bytes;
    if (strlen(bytes) != size || !take_hash(&at, &hash) || !take_number(&at, 16, ' ', &check) ||
        !take_number(&at, 10, '\n', &count) || check != key->check.low ||
        !pdl_rtc_hash_equal(
            hash, pdl_rtc_hash_bytes(at, size - (size_t)(at - bytes), PDL_RTC_SEED_TEXT))) {
        return NULL;
    }
    while (count-- > 0) {
        if (!take_unchanged(store, &at)) {
            return NULL;
        }
    }
    return at;
}

char *store_find(struct store *store, const struct store_question *question, size_t *size)
{
    struct pdl_rtc_key key;
    char name[PDL_RTC_FILE_NAME];
    const char *damage = NULL;
    size_t read = 0;
    if (store == NULL || !key_of(question, &key)) {
        return NULL;
    }
    pdl_rtc_files_name(&key, name);
    const int part = pdl_rtc_files_part(store->base, name, false);
    if (part < 0) {
        return NULL;
    }
    char *const bytes = (char *)pdl_rtc_files_read(part, name + 3, false, true, &read, &damage);
    (void)close(part);
    const char *const ptx = bytes != NULL ? read_entry(store, &key, bytes, read) : NULL;
    if (ptx == NULL) {
        free(bytes);
        return NULL;
    }
    *size = read - (size_t)(ptx - bytes);
    memmove(bytes, ptx, *size + 1);
    return bytes;
}

/* Takes the next name of a rule of Make's; false at its end. */
static bool next_name(const char **at, char *name)
{
    size_t length = 0;
    for (;;) {
        *at += strspn(*at, " \t\r\n");
        if (strncmp(*at, "\\\n", 2) != 0 && strncmp(*at, "\\\r\n", 3) != 0) {
            break;
        }
        (*at)++;
    }
    while (**at != '\0' && strchr(" \t\r\n", **at) == NULL) {
        const bool escape =
            (**at == '\\' && (*at)[1] != '\0' && strchr(" #\\", (*at)[1]) != NULL) ||
            (**at == '$' && (*at)[1] == '$');
        if (**at == '\\' && ((*at)[1] == '\n' || (*at)[1] == '\r')) {
            break;
        }
        *at += escape;
        name[length++] = *(*at)++;
    }
    name[length] = '\0';
    return length > 0;
}

/* Writes the dependencies; false where they are not known, or not settled. */
static bool write_dependencies(struct store *store, const char *rule, const char *directory,
                               FILE *to, size_t *count)
{
    char *const name = allocate(strlen(rule) + 1, 1);
    const char *at = strchr(rule, ':'); /* the target is a file in the tool's own folder */
    bool settled = at != NULL;
    at += at != NULL;
    *count = 0;
    while (settled && next_name(&at, name)) {
        struct dependency made;
        char *const path = name[0] == '/' ? copy_text(name) : format_text("%s/%s", directory, name);
        settled = strchr(path, '\n') == NULL && take_dependency(store, path, &made);
        if (settled) {
            (void)fprintf(to, "%" PRIu64 " %" PRId64 " %016" PRIx64 "%016" PRIx64 " %s\n",
                          made.size, made.modified_ns, made.hash.high, made.hash.low, path);
            (*count)++;
        }
        free(path);
    }
    free(name);
    return settled && *count > 0;
}

static void write_entry(struct store *store, const struct pdl_rtc_key *key, size_t count,
                        const char *content, size_t size)
{
    char name[PDL_RTC_FILE_NAME];
    char why[160];
    char *bytes = NULL;
    size_t total = 0;
    const struct pdl_rtc_hash hash = pdl_rtc_hash_bytes(content, size, PDL_RTC_SEED_TEXT);
    FILE *const to = memory_open(&bytes, &total);
    (void)fprintf(to, head_form, hash.high, hash.low, key->check.low, count);
    (void)fwrite(content, 1, size, to);
    memory_close(to);
    pdl_rtc_files_name(key, name);
    if (pdl_rtc_files_write(store->base, name, bytes, total, why, sizeof(why)) == NULL) {
        (void)pthread_mutex_lock(&store->lock);
        store->written = true;
        (void)pthread_mutex_unlock(&store->lock);
    }
    free(bytes);
}

void store_put(struct store *store, const struct store_question *question, const char *ptx,
               size_t size, const char *dependencies)
{
    struct pdl_rtc_key key;
    char *content = NULL;
    size_t content_size = 0;
    size_t rule_size = 0;
    size_t count = 0;
    if (store == NULL || size > CAPACITY / 4 || !key_of(question, &key)) {
        return;
    }
    char *const rule = file_read(dependencies, &rule_size);
    if (rule == NULL) {
        return;
    }
    FILE *const to = memory_open(&content, &content_size);
    const bool settled = write_dependencies(store, rule, question->directory, to, &count);
    (void)fwrite(ptx, 1, size, to);
    memory_close(to);
    if (settled) {
        write_entry(store, &key, count, content, content_size);
    }
    free(content);
    free(rule);
}
