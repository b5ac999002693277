"""Which of a project's own files an import means, as far as the names alone tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from posixpath import basename, dirname, join, normpath
from typing import NamedTuple

from roundtable.workshop.symbols.imports import Import
from roundtable.workshop.symbols.outline import Outline
from roundtable.workshop.symbols.symbol_names import node_text, split_symbol_name

_QUOTED = re.compile(r"""["'<`]([^"'>`]+)["'>`]""")
_SCRIPTS = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts")
_NAMESPACE = re.compile(rb"^[ \t]*namespace[ \t]+([\w.\\]+)", re.M)
_MODULE = re.compile(rb"^module\s+(\S+)", re.M)
_INSIDE = re.compile(r"^[ \t]+(?:from\s+(?P<module>[\w.]+)\s+)?import\s+(?P<names>\([^()]*\)|[\w., \t*]+)", re.M)
_LONGEST = 4_000
_SOURCE_ROOTS = {"src", "lib", "python", "app"}


class ImportTarget(NamedTuple):
    """What a name in a file stands for: a symbol of another file, or with no `member` that file as a whole."""

    path: str
    member: str = ""


class ResolvedImport(NamedTuple):
    """One import as it was resolved. Without a name, all that the files define can be said as it is.

    Files of one package see each other though no import says so.
    """

    name: str
    targets: tuple[ImportTarget, ...]
    is_explicit: bool = True


class ProjectIndex:
    """The files of a program by all the ways in which imports name them."""

    def __init__(self, outlines: Mapping[str, Outline], others: Mapping[str, bytes]) -> None:
        self.outlines = outlines
        self._others = others

    @cached_property
    def _by_base(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.outlines:
            found.setdefault(basename(path), []).append(path)
        return found

    @cached_property
    def by_folder(self) -> dict[str, list[str]]:
        """The readable files directly inside each folder."""
        found: dict[str, list[str]] = {}
        for path in self.outlines:
            found.setdefault(dirname(path), []).append(path)
        return found

    @cached_property
    def by_namespace(self) -> dict[str, list[str]]:
        """The files of C# and PHP by the namespaces they declare, as dotted names."""
        found: dict[str, list[str]] = {}
        for path, read in self.outlines.items():
            for space in self.namespaces(read):
                found.setdefault(space, []).append(path)
        return found

    @cached_property
    def go_modules(self) -> dict[str, str]:
        """The import path of each folder that has a go.mod."""
        named = {
            dirname(path): _MODULE.search(text) for path, text in self._others.items() if basename(path) == "go.mod"
        }
        return {folder: found[1].decode(errors="replace") for folder, found in named.items() if found}

    @staticmethod
    def namespaces(read: Outline) -> list[str]:
        """The namespaces a file declares."""
        if read.language.name not in {"C#", "PHP"}:
            return []
        return [".".join(split_symbol_name(it.decode(errors="replace"))) for it in _NAMESPACE.findall(read.source)]

    def find_by_suffix(self, tail: str, near: str) -> str | None:
        """The file whose path ends so; of several, the one that shares most folders with another file."""
        found = [it for it in self._by_base.get(basename(tail), ()) if it == tail or it.endswith(f"/{tail}")]
        return min(found, key=lambda it: (-_shared(it, near), it.count("/"), it), default=None)

    def first_existing(self, *paths: str) -> str | None:
        """The first of some paths that there is."""
        return next((it for it in map(normpath, paths) if it in self.outlines), None)


def _shared(one: str, other: str) -> int:
    pairs = zip(one.split("/"), other.split("/"), strict=False)
    return next((index for index, (mine, theirs) in enumerate(pairs) if mine != theirs), 99)


def resolve_file_imports(project: ProjectIndex, read: Outline) -> Iterator[ResolvedImport]:
    """What a file takes from the project's own files; all that comes from elsewhere is left out."""
    resolve = _RESOLVERS[read.language.name]
    for it in (it._replace(text=" ".join(it.text.split())) for it in read.imports if len(it.text) < _LONGEST):
        bound = tuple(resolve(project, read.path, it))
        if bound:
            yield ResolvedImport(_dotted(it.text) or it.name or bound[0].member, bound)
    yield from _EXTRAS.get(read.language.name, _nothing)(project, read)


def _nothing(project: ProjectIndex, read: Outline) -> Iterator[ResolvedImport]:
    yield from ()


def _dotted(text: str) -> str:
    """Python's `import a.b` binds `a`, and what is said then begins with `a.b`."""
    found = re.fullmatch(r"import\s+(\w[\w.]*)", text)
    return found[1] if found else ""


def resolve_python_module(project: ProjectIndex, path: str, dotted: str) -> str | None:
    """The file of a module, as a file says its name. A package's own folder is no place to look for others."""
    dots = len(dotted) - len(dotted.lstrip("."))
    parts = [it for it in dotted.split(".") if it]
    if dots:
        base = dirname(path)
        for _ in range(dots - 1):
            base = dirname(base)
        tail = join(base, *parts)
        return project.first_existing(f"{tail}.py", f"{tail}/__init__.py", f"{tail}.pyi")
    for tail in ("/".join(parts) + ".py", "/".join(parts) + "/__init__.py", "/".join(parts) + ".pyi"):
        found = project.find_by_suffix(tail, path)
        if found is None:
            continue
        root = found[: -len(tail)].rstrip("/")
        near = not root or path.startswith(f"{root}/") or len(parts) > 1 or basename(root) in _SOURCE_ROOTS
        if near and join(root, "__init__.py") not in project.outlines:
            return found
    return None


def _python(project: ProjectIndex, path: str, brought: Import) -> Iterator[ImportTarget]:
    if found := re.fullmatch(r"import\s+([\w.]+)(?:\s+as\s+\w+)?", brought.text):
        module = resolve_python_module(project, path, found[1])
        if module:
            yield ImportTarget(module)
    elif found := re.fullmatch(r"from\s+([\w.]+)\s+import\s+(\w+|\*)(?:\s+as\s+\w+)?", brought.text):
        module, name = found[1], found[2]
        inner = resolve_python_module(project, path, f"{module}{name}" if module.endswith(".") else f"{module}.{name}")
        home = resolve_python_module(project, path, module)
        if inner and name != "*":
            yield ImportTarget(inner)
        elif home:
            yield ImportTarget(home, "" if name == "*" else name)


def _python_inside(project: ProjectIndex, read: Outline) -> Iterator[ResolvedImport]:
    """Imports inside functions, guards and attempts."""
    for match in _INSIDE.finditer(read.source.decode(errors="replace")):
        module, names = match["module"], match["names"].strip("()")
        for one in (" ".join(it.split()) for it in names.split(",") if it.strip()):
            text = f"from {module} import {one}" if module else f"import {one}"
            bound = tuple(_python(project, read.path, Import(one.split()[-1], text, 0, 0)))
            if bound and one != "*":
                yield ResolvedImport(one.split()[-1], bound)


def _script(project: ProjectIndex, path: str, brought: Import) -> Iterator[ImportTarget]:
    quoted = _QUOTED.findall(brought.text)
    target = resolve_script_module(project, path, quoted[-1]) if quoted else None
    if target is None:
        return
    named = re.search(rf"(?<![\w$])([\w$]+)\s*(?:\bas\b|:)\s*{re.escape(brought.name)}\s*[,}}]", brought.text)
    whole = re.match(r"import\s+(?:type\s+)?\*|import\s+\w+\s*=|(?:const|let|var)\s+\w+\s*=", brought.text)
    if "{" in brought.text and not whole:
        yield ImportTarget(target, named[1] if named else brought.name)
    elif whole or not re.match(r"import\s+(?:type\s+)?[\w$]", brought.text):
        yield ImportTarget(target)
    else:
        yield ImportTarget(target, "default")


def resolve_script_module(project: ProjectIndex, path: str, said: str) -> str | None:
    """The file that a script's import names: relative to it, or from the root of the sources."""
    bare = re.sub(r"\.(?:m|c)?jsx?$", "", said)
    ends = ("", *_SCRIPTS, *(f"/index{it}" for it in _SCRIPTS))
    tails = [f"{stem}{end}" for stem in dict.fromkeys((said, bare)) for end in ends]
    if said.startswith("."):
        return project.first_existing(*(join(dirname(path), it) for it in tails))
    if said.startswith(("@/", "~/")):
        return next((it for tail in tails if (it := project.find_by_suffix(tail[2:], path))), None)
    return None


def _script_exports(project: ProjectIndex, read: Outline) -> Iterator[ResolvedImport]:
    """`export { a } from './b'` and `export * from './b'` bring names in and pass them on."""
    for node in read.root.named_children:
        source = node.child_by_field_name("source") if node.type == "export_statement" else None
        said = node_text(source).strip("\"'")
        target = resolve_script_module(project, read.path, said) if said else None
        if target is None:
            continue
        _, brace, listed = node_text(node).partition("{")
        for one in listed.partition("}")[0].split(","):
            words = one.replace("type ", "").split()
            if words:
                yield ResolvedImport(words[-1], (ImportTarget(target, words[0]),))
        if not brace:
            yield ResolvedImport("", (ImportTarget(target),))


def _go(project: ProjectIndex, path: str, brought: Import) -> Iterator[ImportTarget]:
    said = (_QUOTED.findall(brought.text) or [""])[-1]
    for folder, module in project.go_modules.items():
        if said == module or said.startswith(f"{module}/"):
            yield from map(ImportTarget, _go_files(project, normpath(join(folder, said[len(module) :].strip("/")))))
    if not project.go_modules and "." in said.split("/")[0]:
        parts = said.split("/")
        tails = ("/".join(parts[at:]) for at in range(1, len(parts)))
        yield from map(ImportTarget, next(filter(None, (_go_files(project, it) for it in tails)), ()))


def _go_files(project: ProjectIndex, folder: str) -> list[str]:
    inside = project.by_folder.get("" if folder == "." else folder, [])
    return [it for it in inside if it.endswith(".go") and not it.endswith("_test.go")]


def _same_folder(project: ProjectIndex, read: Outline) -> Iterator[ResolvedImport]:
    """Files of one package see each other without a word."""
    suffix = f".{read.path.rpartition('.')[2]}"
    inside = project.by_folder[dirname(read.path)]
    beside = tuple(ImportTarget(it) for it in inside if it != read.path and it.endswith(suffix))
    if beside:
        yield ResolvedImport("", beside, is_explicit=False)


def _java(project: ProjectIndex, path: str, brought: Import) -> Iterator[ImportTarget]:
    parts = re.sub(r"^import\s+(?:static\s+)?|[;\s]", "", brought.text).split(".")
    if parts[-1] == "*":
        folder = "/".join(parts[:-1])
        for place, inside in project.by_folder.items():
            if place == folder or place.endswith(f"/{folder}"):
                yield from (ImportTarget(it) for it in inside if it.endswith(".java"))
    for cut in range(len(parts), 1, -1):
        found = project.find_by_suffix("/".join(parts[:cut]) + ".java", path)
        if found:
            member = [it for it in parts[cut - 1 :] if it != "*"]
            yield ImportTarget(found, "" if parts[-1] == "*" else ".".join(member))
            return


def _include(project: ProjectIndex, path: str, brought: Import) -> Iterator[ImportTarget]:
    found = _QUOTED.search(brought.text)
    said = found[1].lstrip("/") if found else ""
    target = project.first_existing(join(dirname(path), said)) or project.find_by_suffix(normpath(said), path)
    if said and target:
        yield ImportTarget(target)


def _ruby(project: ProjectIndex, path: str, brought: Import) -> Iterator[ImportTarget]:
    said = (_QUOTED.findall(brought.text) or [""])[0]
    tail = said if said.endswith(".rb") else f"{said}.rb"
    if "require_relative" in brought.text:
        target = project.first_existing(join(dirname(path), tail))
    else:
        target = project.first_existing(join("lib", tail), tail) or project.find_by_suffix(f"lib/{tail}", path)
    if said and target:
        yield ImportTarget(target)


def _csharp(project: ProjectIndex, path: str, brought: Import) -> Iterator[ImportTarget]:
    said = re.sub(r"^\s*(?:global\s+)?using\s+(?:static\s+)?(?:\w+\s*=\s*)?|[;\s]", "", brought.text)
    yield from (ImportTarget(it) for it in project.by_namespace.get(said, ()) if it != path)
    space, _, name = said.rpartition(".")
    yield from (ImportTarget(it, name) for it in project.by_namespace.get(space, ()) if _defines(project, it, name))


def _php(project: ProjectIndex, path: str, brought: Import) -> Iterator[ImportTarget]:
    if not brought.text.startswith("use"):
        yield from _include(project, path, brought)
        return
    said = split_symbol_name(re.sub(r"^use\s+(?:function\s+|const\s+)?|\s+as\s+\w+|[;\s]", "", brought.text))
    for it in project.by_namespace.get(".".join(said[:-1]), ()):
        if _defines(project, it, said[-1]):
            yield ImportTarget(it, said[-1])


def _defines(project: ProjectIndex, path: str, name: str) -> bool:
    return any(it.base_name == name for it in project.outlines[path].symbols)


def _same_namespace(project: ProjectIndex, read: Outline) -> Iterator[ResolvedImport]:
    """Files of one namespace, and of those around it in C#, see each other without a word."""
    spaces = dict.fromkeys(project.namespaces(read))
    if read.language.name == "C#":
        around = (".".join(it.split(".")[:at]) for it in spaces for at in range(1, it.count(".") + 2))
        spaces = dict.fromkeys((*spaces, *around))
    bound = tuple(ImportTarget(it) for space in spaces for it in project.by_namespace.get(space, ()) if it != read.path)
    if bound:
        yield ResolvedImport("", bound, is_explicit=False)


def _rust(project: ProjectIndex, path: str, brought: Import) -> Iterator[ImportTarget]:
    said = re.sub(r"^.*?\buse\s+|\s+as\s+\w+|[;\s]", "", brought.text)
    yield from resolve_rust_path(project, path, said.lstrip(":").split("::"))


def resolve_rust_path(project: ProjectIndex, path: str, parts: list[str]) -> Iterator[ImportTarget]:
    """The module file that a Rust path leads to, and what of it is left."""
    base = _rust_base(project, path, parts)
    if base is None:
        return
    folder, rest = base
    for cut in range(len(rest), -1, -1):
        tail = join(folder, *rest[:cut])
        own = (f"{tail}/lib.rs", f"{tail}/main.rs", f"{tail}/mod.rs", f"{tail}.rs")
        found = project.first_existing(*((f"{tail}.rs", f"{tail}/mod.rs") if cut else own))
        if found:
            yield ImportTarget(found, "" if rest[cut:] == ["*"] else ".".join(rest[cut:]))
            return


def _rust_base(project: ProjectIndex, path: str, parts: list[str]) -> tuple[str, list[str]] | None:
    """The folder a path begins in: that of the crate, of the module or of the one above, or of a crate beside."""
    own = dirname(path) if basename(path) in {"lib.rs", "main.rs", "mod.rs"} else path.removesuffix(".rs")
    if parts[0] == "crate":
        at = dirname(path)
        while at and not project.first_existing(join(at, "lib.rs"), join(at, "main.rs")):
            at = dirname(at)
        return at, parts[1:]
    if parts[0] in {"self", "super"}:
        rest = list(parts)
        while rest and rest[0] in {"self", "super"}:
            own = dirname(own) if rest.pop(0) == "super" else own
        return own, rest
    if project.first_existing(join(own, f"{parts[0]}.rs"), join(own, parts[0], "mod.rs")):
        return own, parts
    names = (parts[0], parts[0].replace("_", "-"))
    beside = next((it for name in names if (it := project.find_by_suffix(f"{name}/src/lib.rs", path))), None)
    return (dirname(beside), parts[1:]) if beside else None


def _rust_modules(project: ProjectIndex, read: Outline) -> Iterator[ResolvedImport]:
    """`mod x;` brings a file in under its name."""
    for node in read.root.named_children:
        name = node.child_by_field_name("name") if node.type == "mod_item" else None
        if name is not None and node.child_by_field_name("body") is None:
            said = node_text(name)
            bound = tuple(resolve_rust_path(project, read.path, ["self", said]))
            if bound and not bound[0].member:
                yield ResolvedImport(said, bound)


_RESOLVERS: dict[str, Callable[[ProjectIndex, str, Import], Iterator[ImportTarget]]] = {
    "Python": _python,
    "JavaScript": _script,
    "TypeScript": _script,
    "Go": _go,
    "Rust": _rust,
    "Java": _java,
    "C": _include,
    "C++": _include,
    "C#": _csharp,
    "Ruby": _ruby,
    "PHP": _php,
}
_EXTRAS: dict[str, Callable[[ProjectIndex, Outline], Iterator[ResolvedImport]]] = {
    "Python": _python_inside,
    "JavaScript": _script_exports,
    "TypeScript": _script_exports,
    "Go": _same_folder,
    "Java": _same_folder,
    "C#": _same_namespace,
    "PHP": _same_namespace,
    "Rust": _rust_modules,
}
