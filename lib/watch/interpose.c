/* SPDX-License-Identifier: MIT */
/* How the library gets between a program and the driver, when the dynamic linker loads it first (LD_PRELOAD): programs
 * that link libcuda find the calls that are exported here; the CUDA Runtime, PyTorch and Triton open libcuda and ask
 * dlsym() or cuGetProcAddress(), and these answer with the same calls.
 *
 * Only what really is the driver's is replaced. In a process without CUDA nothing happens here but a jump. */
#include "watch/interpose.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <pdl/pdl.h>

#include "watch/watch.h"

PDL_API int InitializeInjection(void);

__thread unsigned pdl_watch_depth;

/* ---- the hooks ---------------------------------------------------------------------------------- */

#define DECLARE(id, symbol, name, version, per_thread)                                             \
    __attribute__((visibility("hidden"))) void wrapper_##symbol(void) __asm__(                     \
        "pdl_watch_hook_" #symbol);
PDL_WATCH_HOOKS(DECLARE)
#undef DECLARE

struct hook {
    const char *symbol, *name;
    int version;
    bool per_thread;
    pdl_watch_function_pointer wrapper;
    _Atomic(void *) found;  /* as the program found it first */
    _Atomic(void *) driver; /* libcuda's own */
};

static struct hook hooks[] = {
#define HOOK(id, symbol, name, version, per_thread)                                                \
    {#symbol, name, version, per_thread, wrapper_##symbol, NULL, NULL},
    PDL_WATCH_HOOKS(HOOK)
#undef HOOK
};

static void *wrapper_of(const struct hook *hook)
{
    return (void *)(uintptr_t)hook->wrapper;
}

/* A driver may find this library's calls under its own names, as everybody does. */
static bool is_wrapper(const void *address)
{
    bool is = false;
    for (size_t i = 0; i < PDL_WATCH_HOOK_COUNT; i++) {
        is = is || address == wrapper_of(&hooks[i]);
    }
    return is;
}

/* Remembers an address unless there is one. */
static void keep(_Atomic(void *) *slot, void *address)
{
    void *none = NULL;
    if (address != NULL && !is_wrapper(address)) {
        (void)atomic_compare_exchange_strong(slot, &none, address);
    }
}

static void *driver_symbol(struct hook *hook)
{
    void *address = atomic_load_explicit(&hook->driver, memory_order_acquire);
    if (address == NULL) {
        void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); /* and stays */
        keep(&hook->driver, library != NULL ? pdl_watch_symbol(library, hook->symbol) : NULL);
        address = atomic_load_explicit(&hook->driver, memory_order_acquire);
    }
    return address;
}

pdl_watch_function_pointer pdl_watch_real(enum pdl_watch_hooks which)
{
    struct hook *const hook = &hooks[which];
    void *address = NULL;
    if (pdl_watch_depth == 0) {
        address = atomic_load_explicit(&hook->found, memory_order_acquire);
        if (address == NULL) { /* a program that links libcuda, or what wraps it */
            keep(&hook->found, pdl_watch_symbol(RTLD_NEXT, hook->symbol));
            address = atomic_load_explicit(&hook->found, memory_order_acquire);
        }
    }
    if (address == NULL) {
        address = driver_symbol(hook);
    }
    return (pdl_watch_function_pointer)(uintptr_t)address;
}

/* ---- dlsym() -------------------------------------------------------------------------------------- */

typedef void *dlsym_function(void *library, const char *name);

/* For the code below. */
__attribute__((visibility("hidden"))) _Atomic(void *) pdl_watch_dlsym_real;
struct pdl_watch_answer {
    void *address;
    uintptr_t is_answer; /* 0: the real one has to be asked, as if by the caller */
};
__attribute__((visibility("hidden"))) void *pdl_watch_dlsym_find(void);
__attribute__((visibility("hidden"))) struct pdl_watch_answer
pdl_watch_dlsym_ask(void *library, const char *name, const void *caller);

/* The C library's, or that of a library which was preloaded after this one. A sanitizer asks before it has begun. */
__attribute__((no_sanitize("address", "thread", "undefined"))) void *pdl_watch_dlsym_find(void)
{
    void *real = atomic_load_explicit(&pdl_watch_dlsym_real, memory_order_acquire);
#ifdef __GLIBC__
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (size_t i = 0; real == NULL && i < sizeof(versions) / sizeof(versions[0]); i++) {
        real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    }
    if (real == NULL) { /* not preloaded: the C library may come before */
        for (size_t i = 0; real == NULL && i < sizeof(versions) / sizeof(versions[0]); i++) {
            real = dlvsym(RTLD_DEFAULT, "dlsym", versions[i]);
        }
    }
#endif
    atomic_store_explicit(&pdl_watch_dlsym_real, real, memory_order_release);
    return real;
}

/* The real dlsym() sees the address that it returns to: what RTLD_NEXT and RTLD_DEFAULT mean depends on the caller. So
 * this one ends in a jump, and nothing of it is on the stack any more. */
#if defined(__x86_64__) && defined(__LP64__) && defined(__GLIBC__)
#define HAVE_DLSYM 1
__asm__(".text\n"
        ".p2align 4\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    .byte 0xf3, 0x0f, 0x1e, 0xfa\n" /* endbr64 */
        "    testq %rsi, %rsi\n"
        "    je 1f\n"
        "    cmpb $0x63, (%rsi)\n" /* c */
        "    jne 1f\n"
        "    cmpb $0x75, 1(%rsi)\n" /* u */
        "    jne 1f\n"
        "    movq (%rsp), %rdx\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call pdl_watch_dlsym_ask\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testq %rdx, %rdx\n"
        "    je 1f\n"
        "    ret\n"
        "1:  movq pdl_watch_dlsym_real(%rip), %rax\n"
        "    testq %rax, %rax\n"
        "    je 2f\n"
        "    jmp *%rax\n"
        "2:  pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call pdl_watch_dlsym_find\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    je 3f\n"
        "    jmp *%rax\n"
        "3:  ret\n" /* NULL */
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
#elif defined(__aarch64__) && defined(__LP64__) && defined(__GLIBC__)
#define HAVE_DLSYM 1
__asm__(".text\n"
        ".p2align 4\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    hint #34\n" /* bti c */
        "    cbz x1, 1f\n"
        "    ldrb w2, [x1]\n"
        "    cmp w2, #0x63\n" /* c */
        "    b.ne 1f\n"
        "    ldrb w2, [x1, #1]\n"
        "    cmp w2, #0x75\n" /* u */
        "    b.ne 1f\n"
        "    mov x2, x30\n"
        "    hint #25\n" /* paciasp */
        "    .cfi_negate_ra_state\n"
        "    stp x29, x30, [sp, #-32]!\n"
        "    .cfi_def_cfa_offset 32\n"
        "    .cfi_offset 29, -32\n"
        "    .cfi_offset 30, -24\n"
        "    mov x29, sp\n"
        "    stp x0, x1, [sp, #16]\n"
        "    bl pdl_watch_dlsym_ask\n"
        "    mov x3, x0\n"
        "    mov x4, x1\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    .cfi_def_cfa_offset 0\n"
        "    .cfi_restore 29\n"
        "    .cfi_restore 30\n"
        "    hint #29\n" /* autiasp */
        "    .cfi_negate_ra_state\n"
        "    cbz x4, 1f\n"
        "    mov x0, x3\n"
        "    ret\n"
        "1:  adrp x16, pdl_watch_dlsym_real\n"
        "    ldr x16, [x16, :lo12:pdl_watch_dlsym_real]\n"
        "    cbz x16, 2f\n"
        "    br x16\n"
        "2:  hint #25\n"
        "    .cfi_negate_ra_state\n"
        "    stp x29, x30, [sp, #-32]!\n"
        "    .cfi_def_cfa_offset 32\n"
        "    .cfi_offset 29, -32\n"
        "    .cfi_offset 30, -24\n"
        "    mov x29, sp\n"
        "    stp x0, x1, [sp, #16]\n"
        "    bl pdl_watch_dlsym_find\n"
        "    mov x16, x0\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    .cfi_def_cfa_offset 0\n"
        "    .cfi_restore 29\n"
        "    .cfi_restore 30\n"
        "    hint #29\n"
        "    .cfi_negate_ra_state\n"
        "    cbz x16, 3f\n"
        "    br x16\n"
        "3:  mov x0, xzr\n" /* NULL */
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
#endif

void *pdl_watch_symbol(void *library, const char *name)
{
    void *const real = pdl_watch_dlsym_find();
    return real != NULL ? ((dlsym_function *)(uintptr_t)real)(library, name) : NULL;
}

#ifdef HAVE_DLSYM

/* The file of the library that an address lies in. */
static const char *file_of(const void *address)
{
    Dl_info about;
    if (dladdr(address, &about) == 0 || about.dli_fname == NULL) {
        return "";
    }
    const char *const slash = strrchr(about.dli_fname, '/');
    return slash != NULL ? slash + 1 : about.dli_fname;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The driver's own parts and CUPTI ask for the real thing. */
static bool is_trusted(const void *caller)
{
    const char *const file = file_of(caller);
    return begins(file, "libcuda.so") || begins(file, "libcupti.so") ||
           begins(file, "libnvperf_") || begins(file, "libnvidia-");
}

static const struct pdl_watch_answer ask_real = {NULL, 0};

struct pdl_watch_answer pdl_watch_dlsym_ask(void *library, const char *name, const void *caller)
{
    struct hook *hook = NULL;
    for (size_t i = 0; i < PDL_WATCH_HOOK_COUNT && hook == NULL; i++) {
        hook = strcmp(hooks[i].symbol, name) == 0 ? &hooks[i] : NULL;
    }
    /* RTLD_NEXT is asked by who is behind this library, or in front: then it finds what is exported here. */
    if (hook == NULL || library == RTLD_NEXT || is_trusted(caller)) {
        return ask_real;
    }
    void *const found =
        library == RTLD_DEFAULT ? wrapper_of(hook) : pdl_watch_symbol(library, name);
    if (found == NULL) {
        return ask_real; /* which says why */
    }
    if (begins(file_of(found), "libcuda.so")) {
        keep(&hook->driver, found);
        keep(&hook->found, found);
        return (struct pdl_watch_answer){wrapper_of(hook), 1};
    }
    /* The program asks whether it has the call at all, and it is exported here. Without a driver it has not. */
    Dl_info self;
    Dl_info other;
    if (dladdr(found, &other) != 0 && dladdr(&hooks, &self) != 0 &&
        other.dli_fbase == self.dli_fbase && driver_symbol(hook) == NULL) {
        return (struct pdl_watch_answer){pdl_watch_symbol(RTLD_NEXT, name), 1};
    }
    return ask_real;
}

#endif /* HAVE_DLSYM */

/* ---- cuGetProcAddress() --------------------------------------------------------------------------- */

/* The call of that name as the driver has it in a version. */
static void *look_up(const struct hook *hook)
{
    const cuuint64_t flags = hook->per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                              : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    const PFN_cuGetProcAddress_v12000 second =
        (PFN_cuGetProcAddress_v12000)pdl_watch_real(PDL_WATCH_HOOK_GET_PROC_ADDRESS_2);
    const PFN_cuGetProcAddress_v11030 first =
        second == NULL
            ? (PFN_cuGetProcAddress_v11030)pdl_watch_real(PDL_WATCH_HOOK_GET_PROC_ADDRESS)
            : NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    void *address = NULL;
    CUresult result = CUDA_ERROR_NOT_INITIALIZED;
    if (second != NULL) {
        result = second(hook->name, &address, hook->version, flags, &status);
    } else if (first != NULL) {
        result = first(hook->name, &address, hook->version, flags);
    }
    return result == CUDA_SUCCESS ? address : NULL;
}

/* Replaces what was found, if it is the very call that is known here: the driver may have one of the same name with other
 * arguments for other versions. Where a driver has one for both kinds of default stream, the flags decide. */
static void replace(const char *name, void **address, cuuint64_t flags)
{
    if (pdl_watch_depth > 0 || name == NULL || address == NULL || *address == NULL ||
        is_wrapper(*address)) {
        return;
    }
    const size_t length = strlen(name);
    const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 ||
                            (length > 5 && strcmp(name + length - 5, "_ptsz") == 0);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < PDL_WATCH_HOOK_COUNT; i++) {
            struct hook *const hook = &hooks[i];
            if ((pass == 0) == (hook->per_thread == per_thread) &&
                (strcmp(hook->name, name) == 0 || strcmp(hook->symbol, name) == 0) &&
                look_up(hook) == *address) {
                keep(&hook->driver, *address);
                keep(&hook->found, *address);
                *address = wrapper_of(hook);
                return;
            }
        }
    }
}

PDL_WATCH_HOOK(cuGetProcAddress_v2, const char *name, void **address, int version, cuuint64_t flags,
               CUdriverProcAddressQueryResult *status)
{
    const PFN_cuGetProcAddress_v12000 real =
        (PFN_cuGetProcAddress_v12000)pdl_watch_real(PDL_WATCH_HOOK_GET_PROC_ADDRESS_2);
    const CUresult result =
        real != NULL ? real(name, address, version, flags, status) : CUDA_ERROR_NOT_INITIALIZED;
    if (result == CUDA_SUCCESS) {
        replace(name, address, flags);
    }
    return result;
}

PDL_WATCH_HOOK(cuGetProcAddress, const char *name, void **address, int version, cuuint64_t flags)
{
    const PFN_cuGetProcAddress_v11030 real =
        (PFN_cuGetProcAddress_v11030)pdl_watch_real(PDL_WATCH_HOOK_GET_PROC_ADDRESS);
    const CUresult result =
        real != NULL ? real(name, address, version, flags) : CUDA_ERROR_NOT_INITIALIZED;
    if (result == CUDA_SUCCESS) {
        replace(name, address, flags);
    }
    return result;
}

/* ---- whether there is anything to do ---------------------------------------------------------------- */

static atomic_bool begun;

static void forget_begun(void)
{
    atomic_store_explicit(&begun, false, memory_order_relaxed);
}

static void follow_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_begun);
}

bool pdl_watch_is_wanted(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct pdl_watch_settings *const settings = pdl_watch_settings();
    if (settings->record != NULL && !atomic_load_explicit(&begun, memory_order_relaxed)) {
        (void)pthread_once(&once, follow_forks);
        atomic_store_explicit(&begun, true, memory_order_relaxed);
        (void)InitializeInjection(); /* at most the first call of a process does something */
    }
    return settings->record != NULL || settings->rules != NULL || settings->is_instrumented;
}
