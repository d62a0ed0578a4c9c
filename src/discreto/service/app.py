"""The application: one process of a service."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.exceptions import HTTPException

from discreto import __version__
from discreto.errors import DiscretoError
from discreto.service import api, oidc, owner_pages, pages
from discreto.service.browser_sessions import SignInFirst
from discreto.service.config import ServiceConfig
from discreto.service.errors import Refusal, refusal_of
from discreto.service.guard import Guard, Metrics
from discreto.service.rendering import page
from discreto.service.service import Service

_BY_STATUS = {401: "unauthorised", 403: "forbidden", 404: "not_found", 405: "method"}


def make_app(config: ServiceConfig) -> FastAPI:
    """Return the application of a service."""
    service = Service(config)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title=config.name,
        version=__version__,
        description="Differentially private answers about tables. Each is charged to "
        "a ledger before a row is read.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    app.include_router(api.router)
    app.include_router(pages.router)
    app.include_router(owner_pages.router)
    app.include_router(oidc.router)
    _add_operations(app, service)
    _add_refusals(app)
    registry = CollectorRegistry()
    app.state.registry = registry
    tls = config.url.startswith("https://")
    app.add_middleware(
        Guard,
        limits=config.limits,
        metrics=Metrics(registry),
        tls=tls,
    )
    return app


def _add_operations(app: FastAPI, service: Service) -> None:
    @app.get("/health", include_in_schema=False)
    async def health() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/ready", include_in_schema=False)
    def ready() -> JSONResponse:
        good = service.ready()
        word = "ready" if good else "not ready"
        return JSONResponse({"status": word}, 200 if good else 503)

    @app.get("/metrics", include_in_schema=False)
    def metrics(request: Request) -> Response:
        registry = request.app.state.registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # several workers: add them up
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _add_refusals(app: FastAPI) -> None:
    async def refused(request: Request, error: Exception) -> Response:
        refusal = refusal_of(error)
        if "text/html" in request.headers.get("accept", ""):
            told = {"error": refusal.message}
            return page(request, "error.html", None, refusal.status, **told)
        return JSONResponse(refusal.to_dict(), refusal.status)

    async def sign_in(request: Request, error: Exception) -> Response:
        return RedirectResponse("/login", status_code=303)

    async def malformed(request: Request, error: Exception) -> Response:
        return await refused(request, Refusal("bad_request"))

    async def plain(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 400)
        return await refused(request, Refusal(_BY_STATUS.get(status, "bad_request")))

    handlers: dict[Any, Any] = {
        Refusal: refused,
        DiscretoError: refused,
        RequestValidationError: malformed,
        HTTPException: plain,
        SignInFirst: sign_in,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
