/* SPDX-License-Identifier: MIT */
/* The recording: a file that is written through mappings, a chunk for each thread that writes.
 *
 * No descriptor stays open, because programs close those that they did not open, and give their numbers to other files.
 * What is mapped is allocated on the disk first: writing to it then cannot fail. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/lock.h"
#include "watch/watch.h"

enum { FILES_MOST = 9999, SAID_MOST = 32 };

struct chunk {
    struct pdl_watch_chunk *map;
    uint32_t used;
    struct chunk *next; /* of those that ended threads have left */
};

/* What a thread writes into. */
struct writer {
    struct chunk *chunk;
    uint32_t generation; /* of the recording that the chunk belongs to */
    uint16_t kind;       /* of the record that is being written */
    void *alone;         /* a chunk for one record, while it is written */
};

static __thread struct writer writer;

static struct {
    struct pdl_lock lock;
    _Atomic uint32_t generation; /* goes up when it begins; odd: there is one */
    char *path;
    dev_t device;
    ino_t inode;
    struct pdl_watch_header *header;
    uint64_t end; /* of the file */
    struct chunk *left;
    bool tried, stopped;
    pthread_key_t key;
    bool has_key;
} recording;

static struct {
    struct pdl_lock lock; /* while is_open follows from the others */
    atomic_bool is_open, begun, over;
    _Atomic uint64_t deadline; /* 0: none */
} window;

uint64_t pdl_watch_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* What mappings are multiples of. */
static size_t page(void)
{
    const long size = sysconf(_SC_PAGESIZE);
    return size > PDL_WATCH_PAGE ? (size_t)size : PDL_WATCH_PAGE;
}

/* The size of a chunk for one record. */
static size_t chunk_alone(uint32_t record)
{
    return (record + sizeof(struct pdl_watch_chunk) + page() - 1) / page() * page();
}

static uint64_t now_realtime(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- what is said ---------------------------------------------------------------------------------- */

void pdl_watch_say(const char *format, ...)
{
    static struct pdl_lock lock;
    static const char *said[SAID_MOST]; /* formats, which are literals */
    static size_t count = 0;
    char line[640] = "libpdl-watch: ";
    const size_t head = strlen(line);
    bool known = false;
    pdl_lock_take(&lock);
    for (size_t i = 0; i < count; i++) {
        known = known || said[i] == format;
    }
    if (!known && count < SAID_MOST) {
        said[count++] = format;
    }
    pdl_lock_release(&lock);
    if (known) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + head, sizeof(line) - head - 1, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return;
    }
    if ((size_t)length > sizeof(line) - head - 2) {
        length = (int)(sizeof(line) - head - 2);
    }
    void *const note = pdl_watch_reserve_text(PDL_WATCH_NOTE, sizeof(struct pdl_watch_text),
                                              line + head, (size_t)length);
    if (note != NULL) {
        pdl_watch_commit(note);
    }
    line[head + (size_t)length] = '\n';
    if (write(STDERR_FILENO, line, head + (size_t)length + 1) < 0) {
        return; /* there is no other place to say it */
    }
}

/* ---- the file -------------------------------------------------------------------------------------- */

static void count_lost(uint64_t records)
{
    if (recording.header != NULL) {
        (void)__atomic_fetch_add(&recording.header->lost, records, __ATOMIC_RELAXED);
    }
}

/* Room at the end of the file, mapped. Under the lock. */
static void *grow(size_t size)
{
    struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
    struct stat about;
    void *map = MAP_FAILED;
    const uint64_t limit = pdl_watch_settings()->limit;
    const char *why = NULL;
    if (recording.stopped) {
        return NULL;
    }
    /* A file beyond the process's limit would bring a signal that ends it. */
    (void)getrlimit(RLIMIT_FSIZE, &most);
    if (recording.end + size > limit || recording.end + size > most.rlim_cur) {
        why = "it is as large as allowed";
    } else {
        const int file = open(recording.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
        if (file < 0) {
            why = strerror(errno);
        } else {
            int error;
            if (fstat(file, &about) != 0 || about.st_dev != recording.device ||
                about.st_ino != recording.inode) {
                why = "the file was replaced";
            } else if ((error = posix_fallocate(file, (off_t)recording.end, (off_t)size)) != 0) {
                why = strerror(error);
            } else if ((map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                                   file, (off_t)recording.end)) == MAP_FAILED) {
                why = strerror(errno);
            }
            (void)close(file);
        }
    }
    if (why != NULL) {
        recording.stopped = true;
        /* Said without a note: there is no room for one. */
        char line[512];
        const int length =
            snprintf(line, sizeof(line), "libpdl-watch: the recording %.300s ends here: %s\n",
                     recording.path, why);
        if (length > 0 && write(STDERR_FILENO, line, strlen(line)) < 0) {
            return NULL;
        }
        return NULL;
    }
    recording.end += size;
    *(struct pdl_watch_chunk *)map =
        (struct pdl_watch_chunk){.magic = PDL_WATCH_CHUNK_MAGIC, .size = (uint32_t)size};
    return map;
}

/* A thread has ended: another one goes on in its chunk. */
static void leave(void *from)
{
    struct writer *const writer_of_thread = from;
    if (writer_of_thread->chunk == NULL ||
        writer_of_thread->generation != atomic_load(&recording.generation)) {
        return;
    }
    pdl_lock_take(&recording.lock);
    writer_of_thread->chunk->next = recording.left;
    recording.left = writer_of_thread->chunk;
    writer_of_thread->chunk = NULL;
    pdl_lock_release(&recording.lock);
}

static void write_header(struct pdl_watch_header *header)
{
    *header = (struct pdl_watch_header){
        .version = PDL_WATCH_VERSION,
        .order = PDL_WATCH_ORDER,
        .header_size = sizeof(*header),
        .first_chunk = (uint32_t)page(),
        .process = (uint32_t)getpid(),
        .parent = (uint32_t)getppid(),
        .start_ns = pdl_watch_now(),
        .start_realtime_ns = now_realtime(),
    };
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        const ssize_t length = read(file, header->command, sizeof(header->command) - 1);
        for (ssize_t i = 0; i + 1 < length; i++) {
            if (header->command[i] == '\0') {
                header->command[i] = ' ';
            }
        }
        (void)close(file);
    }
    memcpy(header->magic, PDL_WATCH_MAGIC,
           sizeof(header->magic)); /* last: it makes it a recording */
}

/* The file of this process: the first name that is not taken. Under the lock. */
static bool create(const char *base)
{
    struct stat about;
    int file = -1;
    char *path = NULL;
    char *whole = NULL; /* the program may change its folder */
    char *const folder = base[0] == '/' ? NULL : getcwd(NULL, 0);
    if (base[0] != '/' && folder == NULL) {
        return false;
    }
    if (asprintf(&whole, "%s%s%s", folder != NULL ? folder : "", folder != NULL ? "/" : "", base) <
        0) {
        whole = NULL;
    }
    free(folder);
    for (int i = 1; whole != NULL && i <= FILES_MOST && file < 0; i++) {
        free(path);
        if ((i == 1 ? asprintf(&path, "%s", whole) : asprintf(&path, "%s.%d", whole, i)) < 0) {
            path = NULL;
            break;
        }
        file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file < 0 && errno != EEXIST) {
            break;
        }
    }
    free(whole);
    if (path == NULL) {
        return false;
    }
    int error = file < 0 ? errno : 0;
    if (file >= 0) {
        error = fstat(file, &about) != 0 ? errno : posix_fallocate(file, 0, (off_t)page());
        void *const map = error != 0
                              ? MAP_FAILED
                              : mmap(NULL, page(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        error = error == 0 && map == MAP_FAILED ? errno : error;
        if (error == 0) {
            recording.header = map;
            recording.device = about.st_dev;
            recording.inode = about.st_ino;
            recording.end = page();
        }
        (void)close(file);
    }
    if (error != 0) {
        pdl_watch_say("nothing is recorded: %s: %s", base, strerror(error));
        free(path);
        return false;
    }
    recording.path = path;
    write_header(recording.header);
    return true;
}

static _Atomic uint32_t forks;

uint32_t pdl_watch_forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* A child of a fork: what its parent writes is not its own. What is mapped stays so: the child of a program with threads
 * may do next to nothing here. */
static void forget(void)
{
    atomic_fetch_add(&forks, 1);
    const uint32_t generation = atomic_load(&recording.generation);
    free(recording.path);
    free(writer.chunk);
    while (recording.left != NULL) {
        struct chunk *const next = recording.left->next;
        free(recording.left);
        recording.left = next;
    }
    recording.tried = false;
    recording.stopped = false;
    recording.header = NULL;
    recording.path = NULL;
    memset(&writer, 0, sizeof(writer));
    atomic_store(&recording.generation, generation + (generation % 2 != 0 ? 1 : 2));
    atomic_store(&window.is_open, false);
}

static void open_window(void)
{
    const struct pdl_watch_settings *const settings = pdl_watch_settings();
    atomic_store(&window.over, false);
    atomic_store(&window.deadline,
                 settings->ns != 0 && settings->skip == 0 ? pdl_watch_now() + settings->ns : 0);
    atomic_store(&window.begun, settings->skip == 0);
    atomic_store(&window.is_open, settings->skip == 0);
}

/* By what holds under the lock: of two threads that changed something, the later may come here first. */
static void update_window(void)
{
    pdl_lock_take(&window.lock);
    const bool is_open = atomic_load(&recording.generation) % 2 != 0 &&
                         atomic_load(&window.begun) && !atomic_load(&window.over);
    if (atomic_exchange(&window.is_open, is_open) != is_open) {
        pdl_watch_activities(is_open);
    }
    pdl_lock_release(&window.lock);
}

bool pdl_watch_recording_open(void)
{
    static atomic_bool registered;
    const struct pdl_watch_settings *const settings = pdl_watch_settings();
    if (atomic_load_explicit(&recording.generation, memory_order_acquire) % 2 != 0) {
        return true;
    }
    if (settings->record == NULL) {
        return false;
    }
    if (!atomic_exchange(&registered, true)) {
        recording.has_key = pthread_key_create(&recording.key, leave) == 0;
        (void)pthread_atfork(NULL, NULL, forget);
    }
    pdl_lock_take(&recording.lock);
    if (!recording.tried) {
        recording.tried = true;
        pdl_lock_release(&recording.lock);
        /* Only this thread is here: create() may say something, which takes the lock. */
        if (create(settings->record)) {
            open_window();
            atomic_fetch_add(&recording.generation, 1);
            update_window();
        }
        return atomic_load(&recording.generation) % 2 != 0;
    }
    pdl_lock_release(&recording.lock);
    return atomic_load(&recording.generation) % 2 != 0;
}

void pdl_watch_recording_end(void)
{
    if (atomic_load(&recording.generation) % 2 != 0) {
        recording.header->ended = 1;
    }
}

void pdl_watch_set_versions(uint32_t cupti, uint32_t driver)
{
    if (atomic_load(&recording.generation) % 2 != 0) {
        recording.header->cupti_version = cupti;
        recording.header->driver_version = driver;
    }
}

void pdl_watch_count_lost_device(uint64_t executions)
{
    if (atomic_load(&recording.generation) % 2 != 0) {
        (void)__atomic_fetch_add(&recording.header->lost_device, executions, __ATOMIC_RELAXED);
    }
}

/* ---- records --------------------------------------------------------------------------------------- */

/* A chunk with room, which becomes the thread's. */
static struct chunk *take_chunk(uint32_t size)
{
    struct chunk *chunk = NULL;
    pdl_lock_take(&recording.lock);
    for (struct chunk **at = &recording.left; *at != NULL && chunk == NULL; at = &(*at)->next) {
        if ((*at)->used + size <= PDL_WATCH_CHUNK) {
            chunk = *at;
            *at = chunk->next;
            break;
        }
    }
    if (chunk == NULL) {
        chunk = malloc(sizeof(*chunk));
        void *const map = chunk != NULL ? grow(PDL_WATCH_CHUNK) : NULL;
        if (map == NULL) {
            free(chunk);
            chunk = NULL;
        } else {
            *chunk = (struct chunk){.map = map, .used = sizeof(struct pdl_watch_chunk)};
        }
    }
    pdl_lock_release(&recording.lock);
    return chunk;
}

/* The record's place, or NULL. */
static struct pdl_watch_record *place(uint32_t size)
{
    if (size > PDL_WATCH_CHUNK - sizeof(struct pdl_watch_chunk)) {
        pdl_lock_take(&recording.lock);
        writer.alone = grow(chunk_alone(size));
        pdl_lock_release(&recording.lock);
        return writer.alone != NULL
                   ? (void *)((char *)writer.alone + sizeof(struct pdl_watch_chunk))
                   : NULL;
    }
    if (writer.chunk != NULL && writer.chunk->used + size > PDL_WATCH_CHUNK) {
        (void)munmap(writer.chunk->map, PDL_WATCH_CHUNK);
        free(writer.chunk);
        writer.chunk = NULL;
    }
    if (writer.chunk == NULL) {
        writer.chunk = take_chunk(size);
        if (writer.chunk == NULL) {
            return NULL;
        }
        if (recording.has_key) {
            (void)pthread_setspecific(recording.key, &writer);
        }
    }
    struct pdl_watch_record *const record =
        (void *)((char *)writer.chunk->map + writer.chunk->used);
    writer.chunk->used += size;
    return record;
}

void *pdl_watch_reserve(enum pdl_watch_kind kind, size_t size)
{
    const uint32_t generation = atomic_load_explicit(&recording.generation, memory_order_acquire);
    if (generation % 2 == 0) {
        return NULL;
    }
    if (writer.generation != generation) {
        writer = (struct writer){.generation = generation};
    }
    const size_t padded = (size + 7) / 8 * 8;
    struct pdl_watch_record *const record =
        padded < UINT32_MAX / 2 ? place((uint32_t)padded) : NULL;
    if (record == NULL) {
        count_lost(1);
        return NULL;
    }
    record->size = (uint32_t)padded;
    record->extra = (uint16_t)(padded - size);
    writer.kind = (uint16_t)kind;
    return record;
}

void pdl_watch_commit(void *record)
{
    struct pdl_watch_record *const head = record;
    const uint32_t size = head->size;
    __atomic_store_n(&head->kind, writer.kind, __ATOMIC_RELEASE);
    if (writer.alone != NULL) {
        (void)munmap(writer.alone, chunk_alone(size));
        writer.alone = NULL;
    }
}

void *pdl_watch_reserve_text(enum pdl_watch_kind kind, size_t head, const void *text, size_t length)
{
    char *const record = pdl_watch_reserve(kind, head + length);
    if (record != NULL) {
        memcpy(record + head, text, length);
    }
    return record;
}

/* ---- the window ------------------------------------------------------------------------------------ */

bool pdl_watch_window_is_open(void)
{
    return atomic_load_explicit(&window.is_open, memory_order_relaxed);
}

void pdl_watch_window_launch(uint32_t number)
{
    const struct pdl_watch_settings *const settings = pdl_watch_settings();
    if (settings->skip == 0 && settings->count == 0 && settings->ns == 0) {
        return;
    }
    if (atomic_load(&window.over)) {
        return;
    }
    const uint64_t deadline = atomic_load(&window.deadline);
    if (deadline == 0 && settings->ns != 0 && number > settings->skip) {
        atomic_store(&window.deadline, pdl_watch_now() + settings->ns);
    }
    if ((settings->count != 0 && number > settings->skip + settings->count) ||
        (deadline != 0 && pdl_watch_now() > deadline)) {
        atomic_store(&window.over, true);
        update_window();
    } else if (number > settings->skip && !atomic_load(&window.begun)) {
        atomic_store(&window.begun, true);
        update_window();
    }
}
