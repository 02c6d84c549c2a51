/* SPDX-License-Identifier: MIT */
/* Forms of including files, and of asking for them. */
#ifndef PDL_TEST_RTC_FORMS_H
#define PDL_TEST_RTC_FORMS_H

#include "texts.h"

/* Standards that a form is for. */
enum { ANY, TO_14, FROM_11 };

enum { COMMON = 20 }; /* of the forms, the first ones: these are usual */

/* The forms. $N is a name as it is included, $Q in quotes, $A in angle brackets, $S a name without its ".h", $I a number
 * that nothing else has, $K a kernel of its own, $M a macro that is a name. */
static const struct form {
    enum { KNOWN, UNKNOWN } verdict; /* of the scan */
    int standard;
    const char *text;
} forms[] = {
    {KNOWN, ANY, "#include $N\n"},
    {KNOWN, ANY, "#if __has_include($N)\n#include $N\n#endif\n"},
    {KNOWN, ANY, "#if __has_include($N)\n#/**/include/* a */$N\r\n#endif\n"},
    {KNOWN, ANY, "#if __has_include($N)\n/* a\n */ %:include $N\n#endif\n"},
    {KNOWN, ANY, "#if __has_include($N)\n \t#\tinc\\\nlude\f\\\r\n$N // x\n#endif\n"},
    {KNOWN, ANY, "#if __has_include($N)\n$K#endif\n"},
    {KNOWN, ANY, "#if !defined(__has_include) || ! __has_include /**/ ( $N )\n$K#endif\n"},
    {KNOWN, ANY, "#if 0\n#elif __has_include($N) && __has_include($N)\n$K#endif\n"},
    {KNOWN, ANY, "#ifdef __has_include_next\n#if __has_include_next($N)\n$K#endif\n#endif\n"},
    {KNOWN, ANY, "__device__ int v$I = __has_include($N);\n"},
    {KNOWN, ANY, "#define HAS_INCLUDE$I(x) __has_include(x)\n#if HAS_INCLUDE$I($N)\n$K#endif\n"},
    {KNOWN, ANY,
     "#define H$I_has_include(x) (1 && __has_include( x ))\n"
     "#define G$I_has_include(x) H$I_has_include(x)\n#if G$I_has_include($N)\n$K#endif\n"},
    {KNOWN, ANY,
     "#define has_include$I(...) __has_include(__VA_ARGS__)\n#if has_include$I($N)\n$K#endif\n"},
    {KNOWN, ANY, "#define H$I __has_include($A)\n#if H$I\n$K#endif\n"},
    {KNOWN, ANY, "#ifndef X_HAS_INCLUDE\n#define X_HAS_INCLUDE(x) __has_include(x)\n#endif\n"},
    {KNOWN, ANY, "#ifdef X_HAS_INCLUDE\n#if X_HAS_INCLUDE($N)\n$K#endif\n#endif\n"},
    {KNOWN, ANY, "#ifdef OPTION_HAS_INCLUDE\n#if OPTION_HAS_INCLUDE($N)\n$K#endif\n#endif\n"},
    {KNOWN, ANY, "// #include $N\n"},
    {KNOWN, ANY, "/*\n#include M \" ' R\"( $N\n*/\n"},
    {KNOWN, ANY, "#if 0\n#include $N\n#endif\n"},
    /* Others. */
    {UNKNOWN, TO_14, "?\?=include $N\n"},
    {UNKNOWN, TO_14, "#inc?\?/\nlude $N\n"},
    {KNOWN, ANY, "#inc\\\nlude $N\n"},
    {KNOWN, ANY, "#include \\\r\n $N\n"},
    {UNKNOWN, ANY, "$M#include M$I\n"},
    {UNKNOWN, ANY, "$M/* */ %: include M$I // x\n"},
    {UNKNOWN, ANY, "#define T$I(x) #x\n#if __has_include(\"x.h\")\n#include T$I(x.h)\n#endif\n"},
    {KNOWN, ANY, "#include_next $N\n"},
    /* What begins or ends a comment or a string. */
    {UNKNOWN, ANY, "$M// c \\ \n#include M$I\n"},
    {UNKNOWN, ANY, "$M// c \\\t\n#include M$I\n"},
    {UNKNOWN, ANY, "$M// c \\\f\n#include M$I\n"},
    {UNKNOWN, ANY, "$M// ?\?/\n#include M$I\n"},
    {KNOWN, ANY, "$M#define S$I R\"/*(\"\n#include M$I\n//)/*\" */\n"},
    {KNOWN, FROM_11, "$M#define S$I R\"(\n#include M$I\n)\"\n"},
    {UNKNOWN, FROM_11, "$M#define S$I u8R\"x(/*)x\"\n#include M$I\n//*/\n"},
    {UNKNOWN, FROM_11, "$M#define S$I R\"x( )\\\nx\" /* )x\"\n#include M$I\n/**/\n"},
    {UNKNOWN, ANY, "$M#define S$I 1'0 /*'*/\n#include M$I\n//*/\n"},
    {KNOWN, ANY, "$M#if 0\nit's 5's /*\n#endif\n#include M$I\n/**/\n"},
    {UNKNOWN, ANY, "$M#if 0\n\" /*\n#endif\n#include M$I\n/**/\n"},
    {UNKNOWN, ANY, "$M#define S$I \"/*\"\n#include M$I\n//*/\n"},
    {UNKNOWN, ANY, "$M#define S$I 1p+R\"(\n#include M$I\n#define U$I )\"\n"},
    {UNKNOWN, ANY, "$M#pragma S$I it's /*\n#include M$I\n/**/\n"},
    {UNKNOWN, ANY, "$Mstruct S$I {}; /*\n*/ #include M$I\n"},
    {UNKNOWN, ANY, "$M#define F$I(x)\nF$I(\n#include M$I\n)\n"},
    /* What is asked for. */
    {UNKNOWN, ANY, "$M#if __has_include(M$I)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define P$I ($N)\n#if __has_include P$I\n$K#endif\n"},
    {UNKNOWN, ANY, "#define H$I(x) __has_include(x)\n#if H$I($N)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define H$I __has_include // x\n#define G$I H$I\n#if G$I ($N)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define HAS_INCLUDE$I __has_include\n#if HAS_INCLUDE$I($N)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define H$I(a, b) __has_include(b)\n#if H$I($N, $Q)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define H$I(x) __has_include\n#if H$I($N)($Q)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define H$I __has_include (\n#if H$I $N)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define H$I __has_include($Q)\n#if H$I\n$K#endif\n"},
    {UNKNOWN, ANY, "#define H$I(a) __has_include(<a.h>)\n#if H$I($S)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define w$I $S\n#define H$I(x) __has_include(x)\n#if H$I(<w$I.h>)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define w$I $S\n#define H$I __has_include(<w$I.h>)\n#if H$I\n$K#endif\n"},
    {UNKNOWN, ANY, "#define C$I(a, b) a##b\n#if C$I(__has_, include)($N)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define C$I(a, b) a %:%: b\n#if C$I(_, _has_include)($N)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define C$I(a, b, c) a##b##c\n#if C$I(__, has, _include)($N)\n$K#endif\n"},
    {UNKNOWN, TO_14, "#define C$I(a, b) a ?\?=?\?= b\n#if C$I(__has, _include)($N)\n$K#endif\n"},
    {UNKNOWN, ANY, "#define C$I(a, b) a #\\\n# b\n#if C$I(__has, _include)($N)\n$K#endif\n"},
    {UNKNOWN, ANY,
     "__global__ void k$I() {\n#pragma unroll __has_include(M$I)\nfor (int i = 0; i < 9; i++) "
     "asm(\"\");\n}\n"},
    {UNKNOWN, ANY, "#define C$I(a, b) a##b\n__device__ int v$I = C$I(__has_inc, lude)($N);\n"},
    {UNKNOWN, ANY,
     "#define A$I __has_\n#define B$I include\n#define C$I(a, b) a##b\n#define D$I(a, b) "
     "C$I(a, b)\n"
     "#if D$I(A$I, B$I)($N)\n$K#endif\n"},
    {UNKNOWN, ANY,
     "#define HAS_INCLUDE$I(x) __has_include(x)\n#define C$I(a, b) a##b\n"
     "#if C$I(HAS_INCLUDE, $I)($N)\n$K#endif\n"},
    {UNKNOWN, ANY,
     "#define C$I(a, b, c, d, e) a##b##c##d##e\n"
     "enum { e$I = C$I(__, has, _in, clu, de)($N) };\n__device__ int v$I = e$I;\n"},
    {UNKNOWN, ANY,
     "#define C$I(a, b) _##a##as_##b##clu\n#define D$I(a) a##de\n#define E$I(a) D$I(a)\n"
     "#if E$I(C$I(_h, in))($N)\n$K#endif\n"},
    {UNKNOWN, ANY,
     "#define J$I(a) x##a\n#define xdefined(a, ...) __VA_ARGS__##a($Q)\n"
     "#if J$I(defined(__has_include))\n$K#endif\n#undef xdefined\n"},
    {UNKNOWN, ANY,
     "#define HA$I##_q\n#define HAS_INCLUDE_$I(x) __has_include(x)\n#define C$I(a, b) a##b\n"
     "#if C$I(HAS_INCLUDE, _$I)($N)\n$K#endif\n"},
    /* What one text defines and another uses. */
    {KNOWN, ANY, "#undef XQ\n#define XQ __has_include($N)\n"},
    {KNOWN, ANY, "#ifdef XQ\n#if XQ\n$K#endif\n#endif\n"},
    {KNOWN, ANY, "#undef XM\n#define XM $N\n"},
    {UNKNOWN, ANY, "#ifdef XM\n#include XM\n#endif\n"},
    {UNKNOWN, ANY, "#ifdef XM\n#if __has_include(XM)\n$K#endif\n#endif\n"},
    /* What the options define. */
    {KNOWN, ANY, "#ifdef OPTION_HAS\n#if OPTION_HAS($N)\n$K#endif\n#endif\n"},
    {UNKNOWN, ANY, "#ifdef OPTION_NAME\n#include OPTION_NAME\n#endif\n"},
    {KNOWN, ANY, "#ifdef OPTION_PASTE\n#if OPTION_PASTE(__has, _include)($N)\n$K#endif\n#endif\n"},
    {KNOWN, ANY,
     "#ifdef OPTION_PART\n#define C$I(a, b) a##b\n#define D$I(a, b) C$I(a, b)\n"
     "#if D$I(OPTION_PART, include)($N)\n$K#endif\n#endif\n"},
    /* What only looks so. */
    {KNOWN, ANY, "/*\n#include M \" ' R\"( $N\n*/\n"},
    {KNOWN, ANY, "#define S$I \"#include $N\" // \\\n#include M$I\n"},
    {KNOWN, ANY, "#define F$I(include) #include\n"},
};

/* Adds a form with a name, of which the number is its own. */
static inline void add_form(struct text *text, const struct form *form, const char *name,
                            bool quoted, unsigned own)
{
    for (const char *at = form->text; *at != '\0'; at++) {
        if (*at != '$') {
            add(text, "%c", *at);
            continue;
        }
        switch (*++at) {
        case 'N':
            add(text, quoted ? "\"%s\"" : "<%s>", name);
            break;
        case 'Q':
            add(text, "\"%s\"", name);
            break;
        case 'A':
            add(text, "<%s>", name);
            break;
        case 'S':
            add(text, "%s", chance(2) == 0 ? "x" : "y");
            break;
        case 'I':
            add(text, "%u", own);
            break;
        case 'K':
            add(text, "extern \"C\" __global__ void k%u() {}\n", own);
            break;
        default:
            add(text, "#define M%u ", own);
            add(text, quoted ? "\"%s\"\n" : "<%s>\n", name);
        }
    }
}

#endif /* PDL_TEST_RTC_FORMS_H */
