"""Resolves imports to files of the project, as far as names alone tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from posixpath import basename, dirname, join, normpath
from typing import NamedTuple

from roundtable.workshop.symbols.imports import Import
from roundtable.workshop.symbols.outline import Outline
from roundtable.workshop.symbols.symbol_names import split_symbol_name, syntax_node_text

_QUOTED = re.compile(r"""["'<`]([^"'>`]+)["'>`]""")
_SCRIPT_SUFFIXES = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts")
_NAMESPACE_STATEMENT = re.compile(rb"^[ \t]*namespace[ \t]+([\w.\\]+)", re.M)
_GO_MODULE_STATEMENT = re.compile(rb"^module\s+(\S+)", re.M)
_NESTED_IMPORT = re.compile(r"^[ \t]+(?:from\s+(?P<module>[\w.]+)\s+)?import\s+(?P<names>\([^()]*\)|[\w., \t*]+)", re.M)
_MAX_STATEMENT_CHARACTERS = 4_000
_SOURCE_ROOTS = {"src", "lib", "python", "app"}


class ImportTarget(NamedTuple):
    """The target of an imported name: a symbol of another file, or that file if `member` is empty."""

    path: str
    member: str = ""


class ResolvedImport(NamedTuple):
    """One resolved import. Without a name, all symbols of the targets can be used unqualified.

    Files of one package see each other without an explicit import.
    """

    name: str
    targets: tuple[ImportTarget, ...]
    is_explicit: bool = True


class ProjectIndex:
    """The files of a project, indexed by all the ways in which imports name them."""

    def __init__(self, outlines: Mapping[str, Outline], files: Mapping[str, bytes]) -> None:
        self.outlines = outlines
        self._files = files

    @cached_property
    def _by_base(self) -> dict[str, list[str]]:
        paths: dict[str, list[str]] = {}
        for path in self.outlines:
            paths.setdefault(basename(path), []).append(path)
        return paths

    @cached_property
    def by_folder(self) -> dict[str, list[str]]:
        """The readable files directly inside each folder."""
        paths: dict[str, list[str]] = {}
        for path in self.outlines:
            paths.setdefault(dirname(path), []).append(path)
        return paths

    @cached_property
    def by_namespace(self) -> dict[str, list[str]]:
        """The C# and PHP files by the dotted namespaces they declare."""
        paths: dict[str, list[str]] = {}
        for path, outline in self.outlines.items():
            for namespace in self.namespaces(outline):
                paths.setdefault(namespace, []).append(path)
        return paths

    @cached_property
    def go_modules(self) -> dict[str, str]:
        """The import path of each folder that has a go.mod."""
        statements = {
            dirname(path): _GO_MODULE_STATEMENT.search(text)
            for path, text in self._files.items()
            if basename(path) == "go.mod"
        }
        return {folder: statement[1].decode(errors="replace") for folder, statement in statements.items() if statement}

    @staticmethod
    def namespaces(outline: Outline) -> list[str]:
        """Return the namespaces that a file declares."""
        if outline.language.name not in {"C#", "PHP"}:
            return []
        return [
            ".".join(split_symbol_name(namespace.decode(errors="replace")))
            for namespace in _NAMESPACE_STATEMENT.findall(outline.source)
        ]

    def find_by_suffix(self, tail: str, near: str) -> str | None:
        """Return the file whose path ends with `tail`; of several, the one nearest to another file."""
        matches = [
            candidate
            for candidate in self._by_base.get(basename(tail), ())
            if candidate == tail or candidate.endswith(f"/{tail}")
        ]
        return min(
            matches,
            key=lambda candidate: (-_count_shared_folders(candidate, near), candidate.count("/"), candidate),
            default=None,
        )

    def first_existing(self, *paths: str) -> str | None:
        """Return the first of the paths that is in the project."""
        return next((path for path in map(normpath, paths) if path in self.outlines), None)


def _count_shared_folders(one: str, other: str) -> int:
    pairs = zip(one.split("/"), other.split("/"), strict=False)
    return next((index for index, (own_part, other_part) in enumerate(pairs) if own_part != other_part), 99)


def resolve_source_imports(project: ProjectIndex, outline: Outline) -> Iterator[ResolvedImport]:
    """Yield what a file imports from the project's own files; imports from elsewhere are skipped."""
    resolve = _IMPORT_RESOLVERS[outline.language.name]
    for statement in (
        statement._replace(text=" ".join(statement.text.split()))
        for statement in outline.imports
        if len(statement.text) < _MAX_STATEMENT_CHARACTERS
    ):
        targets = tuple(resolve(project, outline.path, statement))
        if targets:
            yield ResolvedImport(_dotted_module_name(statement.text) or statement.name or targets[0].member, targets)
    yield from _IMPLICIT_IMPORT_RESOLVERS.get(outline.language.name, _no_implicit_imports)(project, outline)


def _no_implicit_imports(project: ProjectIndex, outline: Outline) -> Iterator[ResolvedImport]:
    yield from ()


def _dotted_module_name(text: str) -> str:
    """Return `a.b` for Python's `import a.b`, which binds `a` but is used as `a.b`."""
    match = re.fullmatch(r"import\s+(\w[\w.]*)", text)
    return match[1] if match else ""


def resolve_python_import(project: ProjectIndex, path: str, dotted: str) -> str | None:
    """Return the file of a module, as another file names it.

    The folder of a package is not searched for top-level modules.
    """
    dots = len(dotted) - len(dotted.lstrip("."))
    parts = [part for part in dotted.split(".") if part]
    if dots:
        base = dirname(path)
        for _ in range(dots - 1):
            base = dirname(base)
        tail = join(base, *parts)
        return project.first_existing(f"{tail}.py", f"{tail}/__init__.py", f"{tail}.pyi")
    for tail in ("/".join(parts) + ".py", "/".join(parts) + "/__init__.py", "/".join(parts) + ".pyi"):
        match = project.find_by_suffix(tail, path)
        if match is None:
            continue
        root = match[: -len(tail)].rstrip("/")
        near = not root or path.startswith(f"{root}/") or len(parts) > 1 or basename(root) in _SOURCE_ROOTS
        if near and join(root, "__init__.py") not in project.outlines:
            return match
    return None


def _resolve_python(project: ProjectIndex, path: str, statement: Import) -> Iterator[ImportTarget]:
    if match := re.fullmatch(r"import\s+([\w.]+)(?:\s+as\s+\w+)?", statement.text):
        module_name = resolve_python_import(project, path, match[1])
        if module_name:
            yield ImportTarget(module_name)
    elif match := re.fullmatch(r"from\s+([\w.]+)\s+import\s+(\w+|\*)(?:\s+as\s+\w+)?", statement.text):
        module_name, name = match[1], match[2]
        submodule_file = resolve_python_import(
            project, path, f"{module_name}{name}" if module_name.endswith(".") else f"{module_name}.{name}"
        )
        module_file = resolve_python_import(project, path, module_name)
        if submodule_file and name != "*":
            yield ImportTarget(submodule_file)
        elif module_file:
            yield ImportTarget(module_file, "" if name == "*" else name)


def _resolve_nested_python(project: ProjectIndex, outline: Outline) -> Iterator[ResolvedImport]:
    """Resolve imports inside functions, conditions and try statements."""
    for match in _NESTED_IMPORT.finditer(outline.source.decode(errors="replace")):
        module, names = match["module"], match["names"].strip("()")
        for statement in (" ".join(name.split()) for name in names.split(",") if name.strip()):
            text = f"from {module} import {statement}" if module else f"import {statement}"
            targets = tuple(_resolve_python(project, outline.path, Import(statement.split()[-1], text, 0, 0)))
            if targets and statement != "*":
                yield ResolvedImport(statement.split()[-1], targets)


def _resolve_script(project: ProjectIndex, path: str, statement: Import) -> Iterator[ImportTarget]:
    quoted = _QUOTED.findall(statement.text)
    target = _resolve_script_module(project, path, quoted[-1]) if quoted else None
    if target is None:
        return
    renamed = re.search(rf"(?<![\w$])([\w$]+)\s*(?:\bas\b|:)\s*{re.escape(statement.name)}\s*[,}}]", statement.text)
    imports_module = re.match(r"import\s+(?:type\s+)?\*|import\s+\w+\s*=|(?:const|let|var)\s+\w+\s*=", statement.text)
    if "{" in statement.text and not imports_module:
        yield ImportTarget(target, renamed[1] if renamed else statement.name)
    elif imports_module or not re.match(r"import\s+(?:type\s+)?[\w$]", statement.text):
        yield ImportTarget(target)
    else:
        yield ImportTarget(target, "default")


def _resolve_script_module(project: ProjectIndex, path: str, specifier: str) -> str | None:
    """Return the file that a script imports: relative to the script, or from the source root."""
    without_suffix = re.sub(r"\.(?:m|c)?jsx?$", "", specifier)
    endings = ("", *_SCRIPT_SUFFIXES, *(f"/index{suffix}" for suffix in _SCRIPT_SUFFIXES))
    candidates = [f"{stem}{end}" for stem in dict.fromkeys((specifier, without_suffix)) for end in endings]
    if specifier.startswith("."):
        return project.first_existing(*(join(dirname(path), ending) for ending in candidates))
    if specifier.startswith(("@/", "~/")):
        return next((target for tail in candidates if (target := project.find_by_suffix(tail[2:], path))), None)
    return None


def _resolve_script_exports(project: ProjectIndex, outline: Outline) -> Iterator[ResolvedImport]:
    """Resolve `export { a } from './b'` and `export * from './b'`, which import names and export them again."""
    for node in outline.root.named_children:
        source = node.child_by_field_name("source") if node.type == "export_statement" else None
        specifier = syntax_node_text(source).strip("\"'")
        target = _resolve_script_module(project, outline.path, specifier) if specifier else None
        if target is None:
            continue
        _, brace, listed = syntax_node_text(node).partition("{")
        for entry in listed.partition("}")[0].split(","):
            words = entry.replace("type ", "").split()
            if words:
                yield ResolvedImport(words[-1], (ImportTarget(target, words[0]),))
        if not brace:
            yield ResolvedImport("", (ImportTarget(target),))


def _resolve_go(project: ProjectIndex, path: str, statement: Import) -> Iterator[ImportTarget]:
    import_path = (_QUOTED.findall(statement.text) or [""])[-1]
    for folder, module in project.go_modules.items():
        if import_path == module or import_path.startswith(f"{module}/"):
            yield from map(
                ImportTarget, _list_go_files(project, normpath(join(folder, import_path[len(module) :].strip("/"))))
            )
    if not project.go_modules and "." in import_path.split("/")[0]:
        parts = import_path.split("/")
        tails = ("/".join(parts[at:]) for at in range(1, len(parts)))
        yield from map(ImportTarget, next(filter(None, (_list_go_files(project, tail) for tail in tails)), ()))


def _list_go_files(project: ProjectIndex, folder: str) -> list[str]:
    paths = project.by_folder.get("" if folder == "." else folder, [])
    return [inner_path for inner_path in paths if inner_path.endswith(".go") and not inner_path.endswith("_test.go")]


def _resolve_same_folder(project: ProjectIndex, outline: Outline) -> Iterator[ResolvedImport]:
    """Files of one package see each other without an import."""
    suffix = f".{outline.path.rpartition('.')[2]}"
    paths = project.by_folder[dirname(outline.path)]
    neighbors = tuple(
        ImportTarget(inner_path) for inner_path in paths if inner_path != outline.path and inner_path.endswith(suffix)
    )
    if neighbors:
        yield ResolvedImport("", neighbors, is_explicit=False)


def _resolve_java(project: ProjectIndex, path: str, statement: Import) -> Iterator[ImportTarget]:
    parts = re.sub(r"^import\s+(?:static\s+)?|[;\s]", "", statement.text).split(".")
    if parts[-1] == "*":
        folder = "/".join(parts[:-1])
        for package_folder, paths in project.by_folder.items():
            if package_folder == folder or package_folder.endswith(f"/{folder}"):
                yield from (ImportTarget(inner_path) for inner_path in paths if inner_path.endswith(".java"))
    for cut in range(len(parts), 1, -1):
        target = project.find_by_suffix("/".join(parts[:cut]) + ".java", path)
        if target:
            member = [part for part in parts[cut - 1 :] if part != "*"]
            yield ImportTarget(target, "" if parts[-1] == "*" else ".".join(member))
            return


def _resolve_include(project: ProjectIndex, path: str, statement: Import) -> Iterator[ImportTarget]:
    quoted = _QUOTED.search(statement.text)
    included_path = quoted[1].lstrip("/") if quoted else ""
    target = project.first_existing(join(dirname(path), included_path)) or project.find_by_suffix(
        normpath(included_path), path
    )
    if included_path and target:
        yield ImportTarget(target)


def _resolve_ruby(project: ProjectIndex, path: str, statement: Import) -> Iterator[ImportTarget]:
    required_path = (_QUOTED.findall(statement.text) or [""])[0]
    tail = required_path if required_path.endswith(".rb") else f"{required_path}.rb"
    if "require_relative" in statement.text:
        target = project.first_existing(join(dirname(path), tail))
    else:
        target = project.first_existing(join("lib", tail), tail) or project.find_by_suffix(f"lib/{tail}", path)
    if required_path and target:
        yield ImportTarget(target)


def _resolve_csharp(project: ProjectIndex, path: str, statement: Import) -> Iterator[ImportTarget]:
    namespace = re.sub(r"^\s*(?:global\s+)?using\s+(?:static\s+)?(?:\w+\s*=\s*)?|[;\s]", "", statement.text)
    yield from (ImportTarget(other) for other in project.by_namespace.get(namespace, ()) if other != path)
    outer_namespace, _, name = namespace.rpartition(".")
    yield from (
        ImportTarget(other, name)
        for other in project.by_namespace.get(outer_namespace, ())
        if _defines_symbol(project, other, name)
    )


def _resolve_php(project: ProjectIndex, path: str, statement: Import) -> Iterator[ImportTarget]:
    if not statement.text.startswith("use"):
        yield from _resolve_include(project, path, statement)
        return
    name_parts = split_symbol_name(re.sub(r"^use\s+(?:function\s+|const\s+)?|\s+as\s+\w+|[;\s]", "", statement.text))
    for other in project.by_namespace.get(".".join(name_parts[:-1]), ()):
        if _defines_symbol(project, other, name_parts[-1]):
            yield ImportTarget(other, name_parts[-1])


def _defines_symbol(project: ProjectIndex, path: str, name: str) -> bool:
    return any(symbol.base_name == name for symbol in project.outlines[path].symbols)


def _resolve_same_namespace(project: ProjectIndex, outline: Outline) -> Iterator[ResolvedImport]:
    """Files of one namespace, and in C# of the namespaces around it, see each other without an import."""
    namespaces = dict.fromkeys(project.namespaces(outline))
    if outline.language.name == "C#":
        outer_namespaces = (
            ".".join(namespace.split(".")[:at]) for namespace in namespaces for at in range(1, namespace.count(".") + 2)
        )
        namespaces = dict.fromkeys((*namespaces, *outer_namespaces))
    targets = tuple(
        ImportTarget(other)
        for inner in namespaces
        for other in project.by_namespace.get(inner, ())
        if other != outline.path
    )
    if targets:
        yield ResolvedImport("", targets, is_explicit=False)


def _resolve_rust(project: ProjectIndex, path: str, statement: Import) -> Iterator[ImportTarget]:
    path_text = re.sub(r"^.*?\buse\s+|\s+as\s+\w+|[;\s]", "", statement.text)
    yield from resolve_rust_symbol_import(project, path, path_text.lstrip(":").split("::"))


def resolve_rust_symbol_import(project: ProjectIndex, path: str, parts: list[str]) -> Iterator[ImportTarget]:
    """Yield the module file that a Rust path leads to, with the rest of the path."""
    base = _find_rust_base(project, path, parts)
    if base is None:
        return
    folder, rest = base
    for cut in range(len(rest), -1, -1):
        tail = join(folder, *rest[:cut])
        root_files = (f"{tail}/lib.rs", f"{tail}/main.rs", f"{tail}/mod.rs", f"{tail}.rs")
        target = project.first_existing(*((f"{tail}.rs", f"{tail}/mod.rs") if cut else root_files))
        if target:
            yield ImportTarget(target, "" if rest[cut:] == ["*"] else ".".join(rest[cut:]))
            return


def _find_rust_base(project: ProjectIndex, path: str, parts: list[str]) -> tuple[str, list[str]] | None:
    """Return the folder where a path begins: the crate, this module, its parent, or a sibling crate."""
    module_folder = dirname(path) if basename(path) in {"lib.rs", "main.rs", "mod.rs"} else path.removesuffix(".rs")
    if parts[0] == "crate":
        folder = dirname(path)
        while folder and not project.first_existing(join(folder, "lib.rs"), join(folder, "main.rs")):
            folder = dirname(folder)
        return folder, parts[1:]
    if parts[0] in {"self", "super"}:
        rest = list(parts)
        while rest and rest[0] in {"self", "super"}:
            module_folder = dirname(module_folder) if rest.pop(0) == "super" else module_folder
        return module_folder, rest
    if project.first_existing(join(module_folder, f"{parts[0]}.rs"), join(module_folder, parts[0], "mod.rs")):
        return module_folder, parts
    names = (parts[0], parts[0].replace("_", "-"))
    sibling = next((lib for name in names if (lib := project.find_by_suffix(f"{name}/src/lib.rs", path))), None)
    return (dirname(sibling), parts[1:]) if sibling else None


def _resolve_rust_modules(project: ProjectIndex, outline: Outline) -> Iterator[ResolvedImport]:
    """`mod x;` includes a file under its name."""
    for node in outline.root.named_children:
        name = node.child_by_field_name("name") if node.type == "mod_item" else None
        if name is not None and node.child_by_field_name("body") is None:
            module_name = syntax_node_text(name)
            targets = tuple(resolve_rust_symbol_import(project, outline.path, ["self", module_name]))
            if targets and not targets[0].member:
                yield ResolvedImport(module_name, targets)


_IMPORT_RESOLVERS: dict[str, Callable[[ProjectIndex, str, Import], Iterator[ImportTarget]]] = {
    "Python": _resolve_python,
    "JavaScript": _resolve_script,
    "TypeScript": _resolve_script,
    "Go": _resolve_go,
    "Rust": _resolve_rust,
    "Java": _resolve_java,
    "C": _resolve_include,
    "C++": _resolve_include,
    "C#": _resolve_csharp,
    "Ruby": _resolve_ruby,
    "PHP": _resolve_php,
}
_IMPLICIT_IMPORT_RESOLVERS: dict[str, Callable[[ProjectIndex, Outline], Iterator[ResolvedImport]]] = {
    "Python": _resolve_nested_python,
    "JavaScript": _resolve_script_exports,
    "TypeScript": _resolve_script_exports,
    "Go": _resolve_same_folder,
    "Java": _resolve_same_folder,
    "C#": _resolve_same_namespace,
    "PHP": _resolve_same_namespace,
    "Rust": _resolve_rust_modules,
}
