import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { findProgram, skipReason } from '../distribution.ts'

const run = promisify(execFile)

export const ENGINES = ['docker', 'podman'] as const
export type EngineName = (typeof ENGINES)[number]

/** In every engine of these tests: busybox under all its names. */
export const BASE_IMAGE = 'localhost/base:1'

const NEEDED: Record<EngineName, Record<string, string>> = {
  docker: { dockerd: 'docker.io', ip: 'iproute2', runc: 'runc', 'docker-init': 'tini', busybox: 'busybox-static' },
  podman: { podman: 'podman', runc: 'runc', catatonit: 'catatonit', busybox: 'busybox-static' },
}
/** To an ordinary user, Podman gives containers as well. */
const AM_ROOT = process.getuid?.() === 0

/** Why this engine cannot be started here; null where it can. */
export function whyNoEngine(name: EngineName): string | null {
  const missing = Object.entries(NEEDED[name]).flatMap(([program, debian]) =>
    findProgram(program) === null ? [debian] : [],
  )
  if (missing.length > 0) return skipReason(name, `it takes more: apt-get install ${missing.join(' ')}`)
  return skipReason(name, AM_ROOT || name === 'podman' ? null : 'this is not root')
}

/** The address of an engine, for processes that have not started it. */
export interface EnginePlace {
  name: EngineName
  socket: string
  /** The directory with its images and containers. */
  disk: string
  /** The engine's command line program, with the options that every command takes. */
  client: [string, ...string[]]
  env: Record<string, string>
}

export interface ContainerEngine extends Pick<EnginePlace, 'name' | 'socket' | 'disk'> {
  readonly url: string
  /** One request to its API. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }>
  /** Its own program, for the same images and containers. */
  cli(...args: string[]): Promise<string>
  /** To a registry that speaks plain HTTP. */
  push(image: string): Promise<void>
  command(...args: string[]): { program: string; args: string[]; env: NodeJS.ProcessEnv }
}

export function engineAt({ name, socket, disk, client: [program, ...options], env }: EnginePlace): ContainerEngine {
  const engine: ContainerEngine = {
    name,
    socket,
    disk,
    url: `unix://${socket}`,
    call: (method, path, body) => call(socket, method, path, body),
    command: (...words) => ({ program, args: [...options, ...words], env }),
    async cli(...words) {
      const { args } = engine.command(...words)
      return (await run(program, args, { env, cwd: env['HOME'], maxBuffer: 64 * 1024 * 1024 })).stdout
    },
    async push(image) {
      await engine.cli('push', ...(name === 'podman' ? ['--tls-verify=false'] : []), image)
    },
  }
  return engine
}

async function call(
  socketPath: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; text: string }> {
  const sent = httpRequest({ socketPath, method, path, headers: { 'content-type': 'application/json' } })
  sent.end(body === undefined ? body : JSON.stringify(body))
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk as string
  return { status: answer.statusCode ?? 0, text }
}
