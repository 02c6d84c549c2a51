/* SPDX-License-Identifier: MIT */
/* The operating system, where it is POSIX with ELF. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/library.h"
#include "os/lock.h"
#include "os/module.h"

/* ---- locks ------------------------------------------------------------------------------------ */

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(((struct pdl_lock *)0)->mutex), "a lock has room");

void pdl_lock_take(struct pdl_lock *lock)
{
    pthread_mutex_t *const mutex = (void *)&lock->mutex;
    const int self = (int)getpid();
    int known = atomic_load_explicit(&lock->process, memory_order_acquire);
    while (known != self) {
        if (known == -self) {
            (void)sched_yield();
            known = atomic_load_explicit(&lock->process, memory_order_acquire);
        } else if (atomic_compare_exchange_strong(&lock->process, &known, -self)) {
            (void)pthread_mutex_init(mutex, NULL);
            atomic_store_explicit(&lock->process, self, memory_order_release);
            known = self;
        }
    }
    (void)pthread_mutex_lock(mutex);
}

void pdl_lock_release(struct pdl_lock *lock)
{
    pthread_mutex_t *const mutex = (void *)&lock->mutex;
    (void)pthread_mutex_unlock(mutex);
}

/* ---- libraries -------------------------------------------------------------------------------- */

void *pdl_library_open(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *pdl_library_open_beside(const char *name)
{
#ifdef PDL_SINGLE_IMPLEMENTED_ /* beside whatever program it is compiled into may be anything */
    return pdl_library_open(name);
#else
    static const char here = 0;
    Dl_info self;
    void *library = NULL;
    char *beside = NULL;
    const char *slash = dladdr(&here, &self) != 0 ? strrchr(self.dli_fname, '/') : NULL;
    if (slash != NULL &&
        asprintf(&beside, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname, name) >= 0) {
        library = pdl_library_open(beside);
        free(beside);
    }
    return library != NULL ? library : pdl_library_open(name);
#endif
}

void *pdl_library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

void pdl_library_close(void *library)
{
    (void)dlclose(library);
}

const char *pdl_library_error(void)
{
    const char *const why = dlerror();
    return why != NULL ? why : "no reason given";
}

/* ---- modules ---------------------------------------------------------------------------------- */

struct search {
    const void *address;
    struct pdl_module module;
    const char *path; /* as the loader has it */
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    struct pdl_module *module = &search->module;
    (void)size;
    *module = (struct pdl_module){.base = info->dlpi_addr, .unloads = info->dlpi_subs};
    search->path = info->dlpi_name;
    for (unsigned i = 0; i < info->dlpi_phnum && module->count < PDL_MODULE_SEGMENTS; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) != 0) {
            module->segments[module->count++] = (struct pdl_segment){
                .begin = (const unsigned char *)info->dlpi_addr + header->p_vaddr,
                .size = header->p_memsz,
                .filled = header->p_filesz,
                .writable = (header->p_flags & PF_W) != 0,
            };
        }
    }
    return pdl_module_room(module, search->address) > 0;
}

bool pdl_module_find(const void *address, struct pdl_module *module)
{
    struct search search = {.address = address};
    const bool found = dl_iterate_phdr(look_at, &search) != 0;
    *module = search.module;
    return found;
}

struct paths {
    char **items;
    size_t count;
    bool no_memory;
};

static int add_path(struct dl_phdr_info *info, size_t size, void *context)
{
    struct paths *paths = context;
    (void)size;
    char **const grown = realloc(paths->items, (paths->count + 1) * sizeof(*grown));
    if (grown != NULL) {
        paths->items = grown;
        paths->items[paths->count] = strdup(info->dlpi_name);
        if (paths->items[paths->count] != NULL) {
            paths->count++;
            return 0;
        }
    }
    paths->no_memory = true;
    return 1;
}

bool pdl_module_namesakes(const void *address,
                          void (*visit)(void *context, const struct pdl_module *module),
                          void *context)
{
    struct search own = {.address = address};
    struct paths paths = {.count = 0};
    Dl_info known;
    if (dladdr(address, &known) == 0 || known.dli_sname == NULL || known.dli_saddr != address) {
        return true;
    }
    (void)dl_iterate_phdr(look_at, &own);
    (void)dl_iterate_phdr(add_path, &paths);
    for (size_t i = 0; i < paths.count; i++) {
        const char *const path = paths.items[i][0] != '\0' ? paths.items[i] : NULL;
        void *const handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        struct search other = {.address = handle != NULL ? dlsym(handle, known.dli_sname) : NULL};
        /* dlsym() also finds what the module depends on, which has its own turn. */
        if (other.address != NULL && dl_iterate_phdr(look_at, &other) != 0 &&
            other.module.base != own.module.base && strcmp(other.path, paths.items[i]) == 0) {
            visit(context, &other.module);
        }
        if (handle != NULL) {
            (void)dlclose(handle);
        }
        free(paths.items[i]);
    }
    free(paths.items);
    return !paths.no_memory;
}

/* ---- files ------------------------------------------------------------------------------------ */

int pdl_file_open(int at, const char *path, int flags, struct stat *about)
{
    const int file = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    if (file >= 0 && (fstat(file, about) != 0 || !S_ISREG(about->st_mode))) {
        (void)close(file);
        errno = EINVAL;
        return -1;
    }
    return file;
}

int pdl_file_open_path(const char *path)
{
    struct stat about;
    return pdl_file_open(AT_FDCWD, path, 0, &about);
}

long long pdl_file_size(int file)
{
    struct stat about;
    return fstat(file, &about) == 0 ? (long long)about.st_size : -1;
}

long long pdl_file_next(int file, void *bytes, size_t room)
{
    return (long long)read(file, bytes, room);
}

void pdl_file_close(int file)
{
    (void)close(file);
}

/* ---- the log ---------------------------------------------------------------------------------- */

int pdl_log_open(const char *path)
{
    /* A pipe is open for reading too, so that it always has a reader, and what does not fit into it is lost. */
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    return strcmp(path, "stderr") == 0 ? STDERR_FILENO : open(path, flags, 0666);
}

void pdl_log_add(int file, const char *text, size_t length)
{
    if (write(file, text, length) < 0) {
        return; /* a log that cannot be written must not fail a launch */
    }
}

long pdl_process_id(void)
{
    return (long)getpid();
}

/* ---- environment ------------------------------------------------------------------------------ */

const char *pdl_environment(const char *name)
{
    return getenv(name);
}

const char *pdl_environment_secure(const char *name)
{
    return secure_getenv(name);
}

bool pdl_pattern_matches(const char *pattern, const char *text)
{
    return fnmatch(pattern, text, 0) == 0;
}
