"""What the system and SQLite say of themselves, in Chinese, as far as a deployment meets it."""

from __future__ import annotations

from collections.abc import Mapping

ELSEWHERE: Mapping[str, str] = {
    # the system, of a file or a folder
    "No such file or directory": "没有这个文件或目录",
    "Permission denied": "没有权限",
    "Operation not permitted": "不允许此操作",
    "Is a directory": "是一个目录",
    "Not a directory": "不是目录",
    "File exists": "文件已存在",
    "File name too long": "文件名太长",
    "Read-only file system": "文件系统只读",
    "No space left on device": "磁盘空间已满",
    "Disk quota exceeded": "超出磁盘配额",
    "Too many open files": "打开的文件太多",
    "Input/output error": "读写出错",
    # the system, of an address
    "Address already in use": "地址已被占用",
    "Cannot assign requested address": "本机没有这个地址",
    "Name or service not known": "没有这个主机名",
    "no such address": "没有这个地址",
    # SQLite
    "unable to open database file": "无法打开数据库文件",
    "attempt to write a readonly database": "数据库只读，无法写入",
    "database is locked": "数据库被占用",
    "database or disk is full": "数据库或磁盘已满",
    "disk I/O error": "磁盘读写出错",
    "database disk image is malformed": "数据库文件已损坏",
    "file is not a database": "文件不是数据库",
}
