"""Which nodes define a function or a class in the syntax tree of each language: data, and functions for special cases.

The node types are those of the tree-sitter grammars.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node


class Definition(NamedTuple):
    """One definition. `owner` is the type of a method that is defined outside of that type."""

    name: str
    is_class: bool = False
    owner: str = ""
    joiner: str = "."  # between an owner and its method in this language


class Grammar(NamedTuple):
    """Where to find a grammar, and which of its nodes are definitions or contain some."""

    module: str
    readers: Mapping[str, "Reader"]  # by the type of node: what reads the definition there
    within: frozenset[str]  # searched for definitions; of other nodes only the name is read
    loader: str = "language"
    methods: bool = False  # the language has no functions but methods: list these
    nested: bool = False  # definitions that are listed also occur deep inside what is larger than a piece


Reader = Callable[["Node"], Definition | None]


def text_of(node: "Node | None") -> str:
    """Return the source text of a node, on one line."""
    data = node.text if node is not None else None
    return " ".join(data.decode("utf-8", "replace").split()) if data else ""


def named_definition(node: "Node", *, is_class: bool = False) -> Definition | None:
    """Return the definition of a node that has its name in a field."""
    name = text_of(node.child_by_field_name("name"))
    return Definition(name, is_class) if name else None


# ---------------------------------------------------------------------- C and C++

_POINTERS = frozenset(("pointer_declarator", "reference_declarator", "attributed_declarator"))


def _c_function(node: "Node") -> Definition | None:
    """Return a function or its prototype; None for a variable, also for a pointer to a function."""
    for declarator in node.children_by_field_name("declarator"):
        inner: Node | None = declarator
        while inner is not None and inner.type in _POINTERS:
            inner = inner.child_by_field_name("declarator") or next(iter(inner.named_children), None)
        if inner is None or inner.type != "function_declarator":
            continue
        name = inner.child_by_field_name("declarator")
        if name is not None and name.type not in ("parenthesized_declarator", "function_declarator"):
            owner, _, own = text_of(name).rpartition("::")
            return Definition(own, owner=owner, joiner="::")
    return None


def _c_type(node: "Node") -> Definition | None:
    """Return a type where it is defined, not where it is used."""
    return named_definition(node, is_class=True) if node.child_by_field_name("body") is not None else None


def _typedef(node: "Node") -> Definition | None:
    """Return a name for a type that is defined in the same statement."""
    kind, name = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if kind is None or kind.child_by_field_name("body") is None or name is None or name.type != "type_identifier":
        return None
    return Definition(text_of(name), is_class=True)


_C_SPECIAL: dict[str, Reader] = {
    "function_definition": _c_function,
    "declaration": _c_function,
    "type_definition": _typedef,
    **dict.fromkeys(("struct_specifier", "union_specifier", "enum_specifier", "class_specifier"), _c_type),
}
_C_WITHIN = "preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification declaration_list declaration"

# ---------------------------------------------------------------------- Go and Rust


def _go_method(node: "Node") -> Definition | None:
    """Return a method and, from its receiver, the type it belongs to."""
    receiver = text_of(node.child_by_field_name("receiver")).strip("()").rpartition(" ")[2]
    method = named_definition(node)
    return method._replace(owner=receiver.lstrip("*").partition("[")[0]) if method else None


def _rust_impl(node: "Node") -> Definition | None:
    """Return the type that gets methods, without its parameters and its module."""
    name = text_of(node.child_by_field_name("type")).partition("<")[0].rpartition("::")[2].lstrip("&")
    return Definition(name, is_class=True) if name.isidentifier() else None


# ---------------------------------------------------------------------- JavaScript and TypeScript

_JS_FUNCTIONS = frozenset(("arrow_function", "function_expression", "generator_function", "function"))


def _assigned_definition(node: "Node") -> Definition | None:
    """Return a variable, or a member of `exports`, whose value is a function or a class."""
    name = node.child_by_field_name("name") or node.child_by_field_name("left")
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if name is None or value is None or value.type not in (_JS_FUNCTIONS | {"class"}):
        return None
    own_name = text_of(name).rpartition(".")[2]
    return Definition(own_name, value.type == "class") if own_name.isidentifier() or "$" in own_name else None


_JS_SPECIAL: dict[str, Reader] = {
    "variable_declarator": _assigned_definition,
    "assignment_expression": _assigned_definition,
}
_JS_FUNCTION_NODES = "function_declaration generator_function_declaration function_signature"
_JS_CLASSES = "class_declaration abstract_class_declaration interface_declaration enum_declaration"
_JS_WITHIN = (
    "export_statement lexical_declaration variable_declaration expression_statement ambient_declaration "
    "internal_module module statement_block"
)
_JAVA_CLASSES = (
    "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"
)


def _grammar(
    module: str, functions: str, classes: str, within: str, special: Mapping[str, Reader] = {}, **more: Any
) -> Grammar:
    named_class = partial(named_definition, is_class=True)
    named = dict.fromkeys(classes.split(), named_class) | dict.fromkeys(functions.split(), named_definition)
    return Grammar(module, {**named, **special}, frozenset([*within.split(), "ERROR"]), **more)


_C = _grammar("tree_sitter_c", "", "", _C_WITHIN, special=_C_SPECIAL)
_CPP = _grammar("tree_sitter_cpp", "", "", f"{_C_WITHIN} namespace_definition template_declaration", special=_C_SPECIAL)

GRAMMARS: dict[str, tuple[Grammar, ...]] = {
    # Several grammars are dialects, tried in this order until one parses the text without an error.
    "python": (
        _grammar(
            "tree_sitter_python", "function_definition", "class_definition",
            "decorated_definition if_statement elif_clause else_clause try_statement except_clause finally_clause "
            "with_statement block",
        ),
    ),
    "javascript": (
        _grammar("tree_sitter_javascript", _JS_FUNCTION_NODES, _JS_CLASSES, _JS_WITHIN, special=_JS_SPECIAL),
    ),
    "typescript": tuple(
        _grammar(
            "tree_sitter_typescript", _JS_FUNCTION_NODES, _JS_CLASSES, _JS_WITHIN, special=_JS_SPECIAL,
            loader=f"language_{dialect}",
        )
        for dialect in ("typescript", "tsx")
    ),
    "java": (
        _grammar(
            "tree_sitter_java", "method_declaration", _JAVA_CLASSES,
            f"{_JAVA_CLASSES} class_body interface_body enum_body enum_body_declarations", methods=True, nested=True,
        ),
    ),
    "c": (_C, _CPP),  # a header may be either
    "cpp": (_CPP,),
    "go": (
        _grammar("tree_sitter_go", "function_declaration", "type_spec type_alias", "type_declaration",
                 special={"method_declaration": _go_method}),
    ),
    "rust": (
        _grammar("tree_sitter_rust", "function_item", "struct_item enum_item union_item trait_item", "",
                 special={"impl_item": _rust_impl}),
    ),
    "php": tuple(
        _grammar(
            "tree_sitter_php", "function_definition",
            "class_declaration interface_declaration trait_declaration enum_declaration",
            "namespace_definition if_statement compound_statement", loader=loader,
        )
        for loader in ("language_php_only", "language_php")  # a piece without its tag, and with it
    ),
    "ruby": (_grammar("tree_sitter_ruby", "method singleton_method", "class module",
                      "class module body_statement", nested=True),),
    "shell": (_grammar("tree_sitter_bash", "function_definition", "", "if_statement else_clause"),),
}  # fmt: skip


def definitions(root: "Node", grammar: Grammar, *, inside: bool = False) -> Iterator[Definition]:
    """Yield what a tree defines at its top, or at the top of a class if the tree is inside one, in source order.

    It does not recurse, because a tree may be as deep as its text is long.
    """
    stack: list[tuple[Node, bool]] = [(root, inside)]  # a node, and whether it is inside a class
    while stack:
        node, inside = stack.pop()
        read = grammar.readers.get(node.type)
        definition = read(node) if read else None
        if definition is not None and (definition.is_class or grammar.methods or not inside):
            yield definition
        if node is root or (node.type in grammar.within and (definition is None or definition.is_class)):
            inside = inside or (definition is not None and definition.is_class)
            stack += [(child, inside) for child in reversed(node.named_children)]
