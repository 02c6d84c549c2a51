/* SPDX-License-Identifier: MIT */
/* Texts whose __has_include is made in every way that macros have: pasted from words of macros and of ordinary code, at
 * several levels, in several files, with lines joined inside of words, among comments, raw strings and numbers that look
 * like something else. The real preprocessor says what each text comes to; then a file beside it changes, comes or goes,
 * and where the text comes to something else than before, what was known of its files must say so: to the lookup in
 * memory, and by the key of the folder.
 *
 * All texts of a round are one compilation: of NVRTC where there is one, else of the C compiler's preprocessor.
 *
 *     rtc_includes_pasted [TEXTS [SEED]]
 *
 * TEXTS is 2,500, or what PDL_TEST_TEXTS says; 10,000 take about 20 s. A run is made of SEED alone. A text that fails is
 * printed, and with PDL_TEST_SHOW_BAD each that does not compile. */
#include <sys/stat.h>
#include <unistd.h>

#include "rtc/cache/key.h"
#include "texts.h"

enum { ROUND = 100, EXPRESSION = 512 };

/* ---- texts --------------------------------------------------------------------------------------- */

/* The standards, and what __cplusplus is in each. */
static const struct standard {
    const char *option, *number;
    bool old;
} standards[] = {{"--std=c++11", "201103L", true},
                 {"--std=c++14", "201402L", false},
                 {"--std=c++17", "201703L", false},
                 {"--std=c++20", "202002L", false}};

static unsigned number; /* of the text, which all its names have */
static unsigned own;    /* of what is made in it */
static const struct standard *standard;
static bool tame; /* it asks as ordinary texts do, whatever stands around */
static bool raw;  /* it has a raw string, in which no line may be joined */

/* Appends to an expression. */
__attribute__((format(printf, 2, 3))) static void say(char *expression, const char *format, ...)
{
    const size_t size = strlen(expression);
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(expression + size, EXPRESSION - size, format, arguments);
    va_end(arguments);
    assert_true(size + (size_t)more < EXPRESSION);
}

/* A call of a macro with these arguments. In code, a macro may begin it. */
static void say_call(struct text *head, char *made, const char *macro, unsigned id,
                     const char *arguments, bool code)
{
    static const char *const open[] = {" (", "/* ( */("};
    const uint64_t how = chance(10);
    if (how < 3 && code) {
        add(head, "#define O%u_%u %s%u_%u(\n", number, id, macro, number, id);
        say(made, "O%u_%u %s)", number, id, arguments);
    } else {
        say(made, "%s%u_%u%s%s)", macro, number, id, how == 9 ? ONE_OF(open) : "(", arguments);
    }
}

/* Makes an expression that becomes the word: the word itself, a macro that is, or a macro that pastes some pieces of it,
 * each of which it has itself or is given. */
static void make_word(struct text *head, const char *word, size_t length, int depth, bool code,
                      char *made)
{
    made[0] = '\0';
    if (length == 1 || depth == 0 || (depth < 3 && chance(3) == 0)) {
        if (chance(4) == 0) {
            const unsigned id = ++own;
            add(head, "#define A%u_%u %.*s\n", number, id, (int)length, word);
            say(made, "A%u_%u", number, id);
        } else {
            say(made, "%.*s", (int)length, word);
        }
        return;
    }
    static const char *const joins[] = {"##", " ## ", "%:%:", "#\\\n#", "##/**/"};
    char body[EXPRESSION] = "";
    char parameters[EXPRESSION] = "";
    char arguments[EXPRESSION] = "";
    const unsigned id = ++own;
    bool given = false;
    for (size_t from = 0; from < length;) {
        size_t size = 1 + chance(length - from);
        size = size == length ? length - 1 : size;
        if (from > 0) {
            say(body, "%s", chance(6) == 0 ? ONE_OF(joins) : "##");
        }
        if (chance(3) == 0) {
            say(body, "%.*s", (int)size, word + from);
        } else {
            char piece[EXPRESSION];
            make_word(head, word + from, size, depth - 1, false, piece);
            say(body, "p%zu", from);
            say(parameters, "%sp%zu", given ? ", " : "", from);
            say(arguments, "%s%s", given ? ", " : "", piece);
            given = true;
        }
        from += size;
    }
    add(head, "#define C%u_%u(%s) %s\n", number, id, parameters, body);
    add(head, "#define D%u_%u(%s) C%u_%u(%s)\n", number, id, parameters, number, id, parameters);
    say_call(head, made, "D", id, arguments, code);
}

/* What asks whether there is a file: __has_include, or a macro of it, by itself or pasted. */
static void make_asker(struct text *head, bool code, char *made)
{
    char word[EXPRESSION] = "__has_include";
    const uint64_t which = tame ? 1 + chance(4) : chance(8);
    const unsigned id = ++own;
    if (which == 0) { /* a macro whose name has a number that another one stands for */
        add(head, "#define HAS_INCLUDE%u_%u_%s(x) __has_include( x )\n", number, id,
            standard->number);
        add(head, "#define C%u_%u(a, b) a##b\n#define D%u_%u(a, b) C%u_%u(a, b)\n", number, id,
            number, id, number, id);
        made[0] = '\0';
        say(made, "D%u_%u(HAS_INCLUDE%u_%u_, __cplusplus)", number, id, number, id);
        return;
    }
    if (which == 1) {
        (void)snprintf(word, sizeof(word), "HAS_INCLUDE_%u_%u", number, id);
        add(head, "#define %s(x) (1 && __has_include(x))\n", word);
    }
    make_word(head, word, strlen(word), tame || chance(4) == 0 ? 0 : 3, code, made);
    if (!tame && chance(4) == 0) {
        add(head, "#define Q%u_%u %s\n", number, id, made);
        made[0] = '\0';
        say(made, "Q%u_%u", number, id);
    }
}

/* A file's name as it is asked for. */
static void make_name(struct text *head, char *made)
{
    char name[EXPRESSION] = "";
    const unsigned id = ++own;
    made[0] = '\0';
    switch (tame ? chance(2) * 5 : chance(6)) {
    case 0:
        say(name, "<d%u/%c.h>", number % ROUND, "fgh"[chance(3)]);
        break;
    case 1:
        say(name, "\"../d%u/%c.h\"", number % ROUND, "fgh"[chance(3)]);
        break;
    case 2:
        add(head, "#define S%u_%u(x) #x\n", number, id);
        say(name, "S%u_%u(%c.h)", number, id, "fgh"[chance(3)]);
        break;
    default:
        say(name, "\"%c.h\"", "fgh"[chance(3)]);
    }
    if (!tame && chance(5) == 0) {
        add(head, "#define N%u_%u %s\n", number, id, name);
        say(made, "N%u_%u", number, id);
    } else {
        say(made, "%s", name);
    }
}

/* What looks like the begin or the end of something. */
static void add_noise(struct text *text)
{
    const unsigned id = ++own;
    switch (chance(15)) {
    case 0:
        add(text, "// it's \" /* R\"( \\\n __has_include(M) #include M\n");
        break;
    case 1:
        add(text, "/* it's \" // R\"( \n#include M \n*/\n");
        break;
    case 2:
        add(text, "#define R%u_%u R\"(\n\" /* ' %s)\"\n", number, id, chance(2) == 0 ? "" : ") \"");
        raw = true;
        break;
    case 3:
        add(text, "#define R%u_%u R\"x( )\" /* )x\"\n", number, id);
        raw = true;
        break;
    case 4:
        add(text, "#if 0\n5's /*\nit's \" /*\n#endif\n");
        break;
    case 5:
        add(text, "#define I%u_%u %s\n", number, id, standard->old ? "7" : "1'000 + 0x1'0p+1");
        break;
    case 6:
        add(text, "#define L%u_%u (\n#define T%u_%u(x) decltype L%u_%u x )\n", number, id, number,
            id, number, id);
        break;
    case 7:
        add(text, "#pragma d%u it's\n", number);
        break;
    case 8:
        add(text, "#if 0\n#error it's /* a\n#include <it's /* a>\n#endif\n");
        break;
    case 9:
        add(text, "#define F%u_%u(x)\nF%u_%u(\n#undef X%u\n__h as_)\n", number, id, number, id,
            number);
        break;
    case 10:
        add(text, "#ifdef __has_include\n#endif\n");
        break;
    case 11:
        add(text, "extern \"C\" __device__ int n%u_%u = sizeof(\"/* \\\" ( \") + '\"';\n", number,
            id);
        break;
    case 12:
        add(text, "#define J%u_%u(a, b) extern \"C\" __device__ int a##b\n", number, id);
        add(text, "J%u_%u(n%u_%u, c = sizeof(\") __has\") /* ) _include */);\n", number, id, number,
            id);
        break;
    default:
        add(text, "\n");
    }
}

static void add_use(struct text *head, struct text *text)
{
    char asker[EXPRESSION] = "";
    char name[EXPRESSION] = "";
    const uint64_t use = tame ? 6 + chance(4) : chance(10);
    make_asker(head, use < 2, asker);
    make_name(head, name);
    const unsigned id = ++own;
    switch (use) {
    case 0:
        add(text, "extern \"C\" __device__ int v%u_%u = %s(%s);\n", number, id, asker, name);
        break;
    case 1:
        add(text, "enum { E%u_%u = %s(%s) };\n", number, id, asker, name);
        add(text, "extern \"C\" __device__ int v%u_%u = E%u_%u;\n", number, id, number, id);
        break;
    case 2:
        add(text, "template <int n> struct T%u_%u { enum { value = n }; };\n", number, id);
        add(text, "extern \"C\" __device__ int v%u_%u = T%u_%u<%s(%s)>::value;\n", number, id,
            number, id, asker, name);
        break;
    case 3:
        add(head, "#define U%u_%u %s(%s)\n", number, id, asker, name);
        add(text, "extern \"C\" __device__ int v%u_%u = U%u_%u;\n", number, id, number, id);
        break;
    case 4:
        add(head, "#define U%u_%u(x) %s(x)\n", number, id, asker);
        add(text, "extern \"C\" __device__ int v%u_%u = U%u_%u(%s);\n", number, id, number, id,
            name);
        break;
    case 5:
        add(head, "#define P%u_%u(a) x%u_%u##a\n", number, id, number, id);
        add(head, "#define x%u_%udefined(a, ...) __VA_ARGS__##a (%s)\n", number, id, name);
        add(text, "#if P%u_%u(defined(__has_include))\n", number, id);
        add(text, "extern \"C\" __device__ int v%u_%u;\n#endif\n", number, id);
        break;
    case 6:
        add(text, "#if __has_include(\"g.h\")\n#%s include \"g.h\"\n#endif\n",
            chance(2) == 0 ? "" : "/* a\n */");
        break;
    case 7:
        add(text, "#if __has_include(\"f.h\")\n#define M%u_%u \"f.h\"\n#inc\\\nlude %s\n#endif\n",
            number, id,
            tame ? "\"f.h\"" : (snprintf(name, sizeof(name), "M%u_%u", number, id), name));
        break;
    default:
        add(text, "#if 0\n#elif %s(%s) /* a\n b */ // c\n", asker, name);
        add(text, "extern \"C\" __device__ int v%u_%u;\n#endif\n", number, id);
    }
}

/* Joins some lines where there was none. */
static void split_lines(struct text *text)
{
    for (uint64_t i = chance(4); i > 0 && text->size + 2 < sizeof(text->bytes); i--) {
        const size_t at = chance(text->size);
        if (at > 0 && (text->bytes[at] == '\n' || text->bytes[at - 1] == '\\')) {
            continue;
        }
        memmove(text->bytes + at + 2, text->bytes + at, text->size - at + 1);
        memcpy(text->bytes + at, "\\\n", 2);
        text->size += 2;
    }
}

/* ---- files --------------------------------------------------------------------------------------- */

/* A header, which shows in the code as `value`. */
static void write_header(char which, unsigned value)
{
    char path[64];
    struct text text = {.size = 0};
    (void)snprintf(path, sizeof(path), "d%u/%c.h", number % ROUND, which);
    add(&text, "#ifndef G%u%c\n#define G%u%c\n", number % ROUND, which, number % ROUND, which);
    add(&text, "extern \"C\" __device__ int w%u_%c = %u;\n#endif\n", number % ROUND, which, value);
    rtc_file_write(path, text.bytes);
}

/* One of the headers comes or goes, or becomes another. */
static void change_file(void)
{
    char path[64];
    const char which = "fgh"[chance(3)];
    (void)snprintf(path, sizeof(path), "d%u/%c.h", number % ROUND, which);
    if (unlink(path) != 0 || chance(4) == 0) {
        write_header(which, (unsigned)chance(1000));
    }
}

/* ---- one text ------------------------------------------------------------------------------------ */

struct one {
    char program[32];
    struct text source;
    struct pdl_rtc_request request;
    char *items[1];
    struct pdl_rtc_dependencies known;
    struct pdl_rtc_key key;
    char *before; /* what it comes to */
};

static void look(struct one *one, struct pdl_rtc_dependencies *known, struct pdl_rtc_key *key)
{
    assert_ok(pdl_rtc_includes_find(&one->request, known));
    pdl_rtc_key_make(&one->request, known, NULL, key);
    for (size_t i = 0; i < known->count; i++) {
        known->items[i].fresh = false; /* as if they had been looked at much later */
    }
}

/* A text, whose macros may be in a file of their own, which may also have the begin of what the text goes on with. */
static void make_text(struct one *one)
{
    static const char *directories[] = {"."};
    static struct text head;
    char path[64];
    empty(&head);
    empty(&one->source);
    own = 0;
    raw = false;
    tame = chance(2) == 0;
    const bool apart = chance(3) == 0;
    if (apart) {
        add(&one->source, "#include \"m.h\"\n");
    }
    struct text *uses = &one->source;
    static struct text body;
    empty(&body);
    for (uint64_t i = 1 + chance(2); i > 0; i--) {
        if (chance(2) == 0) {
            add_noise(chance(2) == 0 ? &head : &body);
        }
        add_use(&head, &body);
    }
    if (!apart) {
        add(uses, "%s", head.bytes);
    }
    add(uses, "%s", body.bytes);
    if (!raw && chance(3) == 0) {
        split_lines(uses);
    }
    if (apart) {
        (void)snprintf(path, sizeof(path), "d%u/m.h", number % ROUND);
        rtc_file_write(path, head.bytes);
    }
    (void)snprintf(one->program, sizeof(one->program), "d%u/k.cu", number % ROUND);
    rtc_file_write(one->program, one->source.bytes);
    one->items[0] = (char *)standard->option;
    one->request = (struct pdl_rtc_request){
        .program = one->program,
        .source = one->source.bytes,
        .source_size = one->source.size,
        .target = "compute_90",
        .arguments = {
            .items = one->items, .count = 1, .directories = directories, .directory_count = 1}};
    look(one, &one->known, &one->key);
}

/* ---- what they come to --------------------------------------------------------------------------- */

static const struct pdl_rtc_compiler *nvrtc;

/* Everything that a round's texts come to, which the caller frees; NULL: one of them does not compile, `log` says
 * which. */
static char *compile_round(char **log)
{
    struct text all = {.size = 0};
    size_t size = 0;
    char *code = NULL;
    for (unsigned i = 0; i < ROUND; i++) {
        add(&all, "#include \"d%u/k.cu\"\n", i);
    }
    *log = NULL;
    if (nvrtc == NULL) {
        char command[256];
        rtc_file_write("all.cc", all.bytes);
        (void)snprintf(command, sizeof(command),
                       PDL_TEST_CC " -E -w -I. -x c++ %s all.cc 2>/dev/null", standard->option + 1);
        FILE *output = popen(command, "r");
        assert_non_null(output);
        assert_true(getdelim(&code, &size, '\0', output) > 0);
        (void)pclose(output);
        return code;
    }
    nvrtcProgram program = NULL;
    const char *const options[] = {"-arch=compute_90", "-I.", standard->option, "-w", "--minimal"};
    const int count = nvrtc->number >= 12040 ? 5 : 4;
    assert_int_equal(nvrtc->create(&program, all.bytes, "all.cu", 0, NULL, NULL), 0);
    const bool compiled = nvrtc->compile(program, count, options) == 0;
    assert_int_equal((compiled ? nvrtc->ptx_size : nvrtc->log_size)(program, &size), 0);
    char *text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal((compiled ? nvrtc->ptx : nvrtc->log)(program, text), 0);
    text[size] = '\0';
    assert_int_equal(nvrtc->destroy(&program), 0);
    *(compiled ? &code : log) = text;
    return code;
}

/* Empties the texts that the log names. How many. */
static unsigned drop_bad(struct one *texts, const char *log)
{
    unsigned dropped = 0;
    bool bad[ROUND] = {false};
    for (const char *at = log; at != NULL; at = strchr(at, '\n'), at += at != NULL) {
        const char *error = strstr(at, "error");
        const char *line = strchr(at, '\n');
        if (at[0] == 'd' && error != NULL && (line == NULL || error < line)) {
            bad[strtoul(at + 1, NULL, 10) % ROUND] = true;
        }
    }
    for (unsigned i = 0; i < ROUND; i++) {
        if (bad[i] && texts[i].source.size > 0) {
            if (getenv("PDL_TEST_SHOW_BAD") != NULL) {
                (void)printf("---- bad %u\n%s", i, texts[i].source.bytes);
            }
            texts[i].source.size = 0;
            rtc_file_write(texts[i].program, "");
            dropped++;
        }
    }
    if (getenv("PDL_TEST_SHOW_BAD") != NULL) {
        (void)printf("%s\n", log);
    }
    return dropped;
}

/* What one text comes to: the lines with its names, and its headers'. */
static char *lines_of(const char *code, unsigned text)
{
    char prefix[2][16];
    char *lines = calloc(1, 1);
    size_t size = 0;
    (void)snprintf(prefix[0], sizeof(prefix[0]), " v%u_", text);
    (void)snprintf(prefix[1], sizeof(prefix[1]), " w%u_", text % ROUND);
    for (size_t i = 0; i < 2; i++) {
        for (const char *at = code; (at = strstr(at, prefix[i])) != NULL; at++) {
            const size_t length = strcspn(at, "\n");
            lines = realloc(lines, size + length + 1);
            assert_non_null(lines);
            memcpy(lines + size, at, length);
            size += length;
            lines[size] = '\0';
        }
    }
    return lines;
}

/* ---- all of them --------------------------------------------------------------------------------- */

static struct counts {
    unsigned texts, dropped, unknown, changed, hits, stale;
} counts;

static void check_text(struct one *one, const char *code, unsigned text)
{
    struct pdl_rtc_dependencies now = {0};
    struct pdl_rtc_key key;
    char *after = lines_of(code, text);
    look(one, &now, &key);
    const bool known = one->known.unknown == NULL;
    const bool memory = known && pdl_rtc_includes_unchanged(&one->known);
    const bool disk = known && now.unknown == NULL && memcmp(&one->key, &key, sizeof(key)) == 0;
    const bool changed = strcmp(one->before, after) != 0;
    counts.texts++;
    counts.unknown += !known;
    counts.changed += changed;
    counts.hits += memory && disk;
    if (changed && (memory || disk)) {
        counts.stale++;
        (void)printf("---- text %u is stale in %s: %s, then %s\n%s", text,
                     memory ? "memory" : "the folder", one->before, after, one->source.bytes);
        (void)snprintf(one->program, sizeof(one->program), "d%u/m.h", text % ROUND);
        char *macros = access(one->program, F_OK) == 0 ? rtc_file_read(one->program) : NULL;
        (void)printf("---- m.h, if it is included\n%s", macros != NULL ? macros : "");
        free(macros);
    }
    pdl_rtc_includes_free(&now);
    free(after);
}

static void run_round(struct one *texts, uint64_t seed, unsigned from)
{
    char *log = NULL;
    char *before = NULL;
    chance_state = seed + from;
    standard = &ONE_OF(standards);
    for (unsigned i = 0; i < ROUND; i++) {
        number = from + i;
        chance_state = seed + ((uint64_t)number << 20);
        make_text(&texts[i]);
    }
    while ((before = compile_round(&log)) == NULL) {
        const unsigned dropped = drop_bad(texts, log);
        counts.dropped += dropped;
        free(log);
        if (dropped == 0) {
            fail_msg("the texts from %u on do not compile", from);
        }
    }
    for (unsigned i = 0; i < ROUND; i++) {
        number = from + i;
        texts[i].before = lines_of(before, number);
        change_file();
    }
    char *after = compile_round(&log);
    while (after == NULL && drop_bad(texts, log) > 0) {
        free(log);
        after = compile_round(&log);
    }
    assert_non_null(after);
    for (unsigned i = 0; i < ROUND; i++) {
        if (texts[i].source.size > 0) {
            check_text(&texts[i], after, from + i);
        }
        pdl_rtc_includes_free(&texts[i].known);
        free(texts[i].before);
    }
    free(before);
    free(after);
}

int main(int argc, char **argv)
{
    static struct one texts[ROUND];
    const char *wanted = argc > 1 ? argv[1] : getenv("PDL_TEST_TEXTS");
    const unsigned long count = wanted != NULL ? strtoul(wanted, NULL, 10) : 2500;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    char *folder = rtc_folder_make();
    assert_int_equal(chdir(folder), 0);
    if (pdl_rtc_compiler_open(&nvrtc) != PDL_SUCCESS) {
        nvrtc = NULL;
    }
    for (unsigned i = 0; i < ROUND; i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "d%u", i);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (unsigned from = 0; from < count; from += ROUND) {
        run_round(texts, seed, from);
    }
    (void)printf(
        "%s: %u texts, of these %u unknown, %u that a change matters to; %u hits; %u stale; "
        "%u more did not compile\n",
        nvrtc != NULL ? "NVRTC" : "the preprocessor", counts.texts, counts.unknown, counts.changed,
        counts.hits, counts.stale, counts.dropped);
    const int left = chdir("/");
    rtc_folder_remove(folder);
    return counts.stale > 0 || left != 0 || counts.hits == 0 || counts.changed == 0;
}
