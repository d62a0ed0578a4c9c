"""Bodies of requests, read as strictly as files: no key stands twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from discreto.core.documents import read_json
from discreto.errors import ParameterError


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Return the data of the body; FastAPI answers a decoding error with 422."""
        try:
            return read_json(await self.body())
        except ParameterError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None


class StrictRoute(APIRoute):
    """A route whose request body has no key twice."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, which is given a strict request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strictly
