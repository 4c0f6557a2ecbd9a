"""What Typer says of a command line that cannot be meant, in Chinese; English is its own."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from perdure.cli import say
from perdure.details import translated

USAGE: Mapping[str, str] = {
    "Missing argument {name}.": "缺少参数 {name}。",
    "Missing argument {name}. Choose from:\n\t{known}": "缺少参数 {name}，可选：{known}",
    "Missing option {name}.": "缺少选项 {name}。",
    "Missing option {name}. Choose from:\n\t{known}": "缺少选项 {name}，可选：{known}",
    "Missing command.": "缺少命令。",
    "No such command {name}.": "没有命令 {name}。",
    "No such command {name}. Did you mean {other}?": "没有命令 {name}。是否想用 {other}？",
    "No such option: {name}": "没有选项 {name}。",
    "No such option: {name} (Possible options: {known})": "没有选项 {name}，相近的有：{known}。",
    "No such option: {name} Did you mean {other}?": "没有选项 {name}。是否想用 {other}？",
    "Option {name} requires an argument.": "选项 {name} 需要一个值。",
    "Option {name} does not take a value.": "选项 {name} 不带值。",
    "Got unexpected extra argument(s) ({given})": "多余的参数：{given}。",
    "Invalid value: {why}": "值无效：{why}",
    "Invalid value for {name}: {why}": "{name} 的值无效：{why}",
    "Value error, {value} is not one of {known}.": "{value} 不是可选值：{known}。",
    "file {file} is a directory.": "{file} 是一个目录。",
    "Input should be a valid integer, unable to parse string as an integer": "应为整数。",
    "Input should be greater than or equal to {low}": "不能小于 {low}。",
    "Input should be less than or equal to {high}": "不能大于 {high}。",
}


def misread(wrong: typer.TyperException) -> None:
    """Say what cannot be meant, and which command explains itself."""
    context: typer.Context | None = getattr(wrong, "ctx", None)
    aside = say.aside()
    aside.print(f"perdure: {translated(wrong.format_message(), USAGE)}", soft_wrap=True)
    if context is not None:
        aside.print(say.told("Help: {command}", command=f"{context.command_path} --help"))
