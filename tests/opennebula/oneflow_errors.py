# SPDX-License-Identifier: GPL-3.0-or-later
"""Why OneFlow does not do what it is asked for; the texts are its own."""

from __future__ import annotations


class OneFlowError(Exception):
    """A request is refused. ``status`` is the HTTP status of the answer."""

    status = 500


class NoSuchDocument(OneFlowError):
    """There is no service or template with this id."""

    status = 404

    def __init__(self, document_id: object) -> None:
        super().__init__(f"[one.document.info] Error getting document [{document_id}].")


class NotAuthorized(OneFlowError):
    """The ordinary user lacks a right."""

    status = 401


class BadRequest(OneFlowError):
    """The request itself is wrong."""

    status = 400


class ServerFault(Exception):
    """An exception that OneFlow does not catch: the request ends with 500 and a JSON body, and what was half done
    stays half done.
    """
