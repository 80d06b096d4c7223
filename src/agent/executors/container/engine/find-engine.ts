import { lstatSync, statSync } from 'node:fs'
import { join } from 'node:path'

const SCHEME = 'unix://'
const DOCKER = '/var/run/docker.sock'
const PODMAN = 'podman/podman.sock'

/** Paths of the sockets at which an engine may listen, the first to be tried first. */
export function engineSockets(configured: string | undefined, environment: NodeJS.ProcessEnv): string[] {
  if (configured !== undefined) return [configured.slice(SCHEME.length)]
  const runtimeDir = environment['XDG_RUNTIME_DIR']
  const own = runtimeDir === undefined ? [] : [join(runtimeDir, PODMAN)]
  return [DOCKER, ...own, join('/run', PODMAN)]
}

/** Why nothing can listen there; null if something may. */
export function socketFault(path: string): string | null {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return `there is no ${path}`
  try {
    return statSync(path).isSocket() ? null : `${path} is no socket`
  } catch (error) {
    return `${path}: ${(error as NodeJS.ErrnoException).code}`
  }
}
