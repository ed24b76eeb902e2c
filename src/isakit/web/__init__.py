"""The workbench in the browser: a server on loopback, one worker process per open page, and the page itself.

| module | |
|---|---|
| `command` | `isakit web` |
| `app` | routes, and who may use them |
| `tabs` | open pages and their workers: started, bounded, interrupted, ended |
| `worker`, `verbs` | the process that works for one page, and what it can be asked |
| `folder`, `units`, `source`, `listing`, `stepping` | dropped files, programs, texts, lines, sessions |
| `lessons` | the gallery |
| `static` | the page: plain modules, no build step |
| `packages`, `npm` | other people's JavaScript: its lock file, and how it is bundled into `static/vendor` |

Needs the extra `web` (starlette, uvicorn); everything but `app` and `tabs` works without it.
"""
