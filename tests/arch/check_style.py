"""Counts and lists what breaks the rules of style.

  check_style.py ROOT [--enforce RULE,RULE] [--list RULE,RULE]    RULE: a name of RULES below, or all

Prints the count of every rule, the violations of the rules that are enforced or listed, and exits 1 if an enforced rule
is broken.
"""

import argparse
import ast
import pathlib
import re
import sys

import check_layout

FUNCTION_LINES, COLUMNS, SENTENCE_WORDS, TRAIN_PAIRS, TEST_NAME_WORDS = 60, 120, 30, 16, 6
CPP = {".h", ".cc", ".cu", ".cuh", ".inc", ".c"}
CONTROL = re.compile(r"\b(?:if|for|while|switch|catch|do|else|return|constexpr if)\b[^;{}]*$")
SIGNATURE = re.compile(r"\)\s*(?:const|noexcept|override|final|mutable|->[^;{}]*|:[^;{}]*|\s)*$", re.S)


def sources(root):
    return [path for path in check_layout.files(root) if path.suffix in CPP]


def scripts(root):
    for path in check_layout.files(root):
        if path.suffix in {".py", ".sh"} or (path.suffix == "" and path.read_bytes().startswith(b"#!")):
            yield path


def without_comments_and_strings(text):
    """The text with comments and the contents of literals blanked; lines keep their numbers."""
    literal = (r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/|^[ '
               r'\t]*#(?:[^\n]*\\\n)*[^\n]*')
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    return re.sub(literal, blank, text, flags=re.S | re.M)


def cpp_functions(text):
    """First line and number of lines of every function that is no lambda or member of a function."""
    text, stack, begin = without_comments_and_strings(text), [], 0
    for match in re.finditer(r"[{};]", text):
        at, sign = match.start(), match[0]
        inside = any(first for first in stack)
        if sign == "{":
            head = text[begin:at]
            is_function = not inside and SIGNATURE.search(head) and not CONTROL.search(head)
            stack.append(len(text[:begin]) + len(head) - len(head.lstrip()) + 1 if is_function else 0)
        elif sign == "}" and stack:
            first = stack.pop()
            if first:
                line = text.count("\n", 0, first - 1) + 1
                yield line, text.count("\n", 0, at) + 2 - line
        if not any(first for first in stack) or sign == "{":
            begin = match.end()


def long_functions(root):
    for path in sources(root):
        for line, count in cpp_functions(path.read_text()):
            if count > FUNCTION_LINES:
                yield path, line, f"a function of {count} lines"
    for path in scripts(root):
        for node in ast.walk(ast.parse(path.read_text())) if path.suffix == ".py" else ():
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= FUNCTION_LINES:
                yield path, node.lineno, f"a function of {node.end_lineno - node.lineno + 1} lines"


def long_lines(root):
    for path in [*sources(root), *scripts(root)]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > COLUMNS:
                yield path, number, f"{len(line)} columns"


def comments(text):
    """First line and text of every comment: lines that follow each other and begin in one column. An indented line (of
    a table or an example) and an empty one are none of it."""
    number, column, words = 0, 0, []
    for at, line in enumerate(text.splitlines(), 1):
        match = re.search(r"(?:^|\s)(//+) ?(.*)", line)
        goes_on = match and words and at == number + len(words) and match.start(1) == column
        goes_on = goes_on and not line[:column].strip() and all(re.match(r"\S", text) for text in (words[0], match[2]))
        if words and not goes_on:
            yield number, " ".join(words)
            words = []
        if match:
            if not words:
                number, column = at, match.start(1)
            words.append(match[2])
    if words:
        yield number, " ".join(words)


def long_sentences(root):
    for path in sources(root):
        for number, text in comments(path.read_text()):
            for sentence in re.split(r"(?<=[.!?])\s+", text):
                if len(sentence.split()) > SENTENCE_WORDS:
                    yield path, number, f"a sentence of {len(sentence.split())} words"


def headers_begin_with_what(root):
    for path in sources(root):
        if path.suffix == ".h" and path.read_text().startswith("// What"):
            yield path, 1, 'begins with "// What"'


def include_cycles(root):
    includes = {}
    for path in sources(root):
        names = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.M)
        found = (check_layout.included_path(root, path, name) for name in names)
        includes[path.relative_to(root).as_posix()] = [name for name in found if name]
    done, under_way = set(), []

    def visit(name):
        if name in under_way:
            yield " -> ".join(under_way[under_way.index(name) :] + [name])
        elif name not in done:
            under_way.append(name)
            for other in includes.get(name, ()):
                yield from visit(other)
            under_way.pop()
            done.add(name)

    for name in sorted(includes):
        for cycle in visit(name):
            yield root / name, 1, f"an include cycle: {cycle}"


def names_under_two_roots(root):
    for path in sources(root):
        if path.suffix == ".h" and path.is_relative_to(
                root / "src") and (root / path.relative_to(root / "src")).is_file():
            yield path, 1, f"'{path.relative_to(root / 'src')}' stands under src/ and under the root"


def train_pairs(root):
    pairs = {path.stem for path in sources(root) if path.parent == root / "src/train"}
    if len(pairs) > TRAIN_PAIRS:
        yield root / "src/train", 1, f"{len(pairs)} pairs of files, more than {TRAIN_PAIRS}"


def committed_reports(root):
    for path in sorted((root / "results").rglob("report.html")):
        yield path, 1, "a generated page: 'report html' makes it"


def long_test_names(root):
    """Suite.Condition_Result; a capital or a number begins a word."""
    for path in sources(root):
        text = path.read_text()
        for match in re.finditer(r"^TEST(?:_F|_P)?\(\w+,\s*(\w+)\)", text, re.M):
            words = re.findall(r"[A-Z][a-z0-9]*|[0-9]+", match[1])
            if len(words) > TEST_NAME_WORDS:
                yield path, text.count("\n", 0, match.start()) + 1, f"{match[1]}: {len(words)} words"


RULES = [long_functions, long_lines, long_sentences, headers_begin_with_what, include_cycles, names_under_two_roots,
         train_pairs, committed_reports, long_test_names]


def chosen(names):
    known = {rule.__name__ for rule in RULES}
    wanted = known if names == "all" else set(filter(None, names.split(",")))
    if wanted - known:
        sys.exit(f"check_style.py: no rule {', '.join(sorted(wanted - known))}: {', '.join(sorted(known))}")
    return wanted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--enforce", default="")
    parser.add_argument("--list", default="")
    arguments = parser.parse_args()
    enforced, listed, broken = chosen(arguments.enforce), chosen(arguments.list), False
    root = arguments.root.resolve()
    for rule in RULES:
        found = list(rule(root))
        if rule.__name__ in enforced | listed:
            for path, line, message in found:
                print(f"{path.relative_to(root).as_posix()}:{line}: {message}")
        print(f"{rule.__name__}: {len(found)}{' (enforced)' if rule.__name__ in enforced else ''}")
        broken = broken or (rule.__name__ in enforced and bool(found))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
