import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import {
  ALL_LIMITS,
  controllersSchema,
  type CreateBody,
  createEngineClient,
  delegatedLimits,
  EngineError,
  type EngineLimits,
  readLines,
} from './engine-client.ts'
import { cdiDevices, podmanSpec } from './podman-spec.ts'

/** What the executor needs of Docker's API, as Docker and Podman both have it. */
export interface Engine {
  readonly socket: string
  describe(): Promise<EngineDescription>
  /** Null if it is not there. */
  inspectImage(reference: string): Promise<ImageDescription | null>
  /** Items as they come; the pull has ended when they have. */
  pull(reference: string, authorisation: string | null, signal: AbortSignal): AsyncIterable<PullItem>
  /** By id or name; of a name, what has others keeps these. @returns false if a container uses it */
  removeImage(reference: string): Promise<boolean>
  /** @returns its id */
  create(name: string, body: CreateBody): Promise<string>
  /** Starting one that was started is no error. */
  start(id: string): Promise<void>
  /** @returns false if it has ended, whatever the engine calls it */
  kill(id: string, signal: 'SIGTERM' | 'SIGKILL' | 'SIGCONT'): Promise<boolean>
  /** By id or name; null if there is none. */
  inspect(id: string): Promise<ContainerDescription | null>
  /** @param withinMs how soon it has to answer */
  list(label: string, withinMs?: number): Promise<ListedContainer[]>
  /** With its anonymous volumes, whether or not it runs. Of one that is gone: nothing. */
  remove(id: string): Promise<void>
  /**
   * Where a symbolic link in the file system of a container leads, as an absolute path in it: '' if the path is no link,
   * null if nothing exists there.
   */
  linkTarget(id: string, path: string): Promise<string | null>
  /** Ends of containers with the label, from `since` on; lasts until the signal aborts or the engine ends it. */
  events(label: string, since: Date, signal: AbortSignal): AsyncIterable<EngineEvent>
  /** Framed output from the beginning. */
  logs(id: string, options: { follow: boolean; since?: Date; signal: AbortSignal }): Promise<Readable>
  /** A command beside the container's own. @returns its id */
  createExec(containerId: string, command: EngineCommand): Promise<string>
  /** Its input, and its output: as it is with a terminal, else framed. The engine says so before it has begun. */
  startExec(id: string, command: EngineCommand): Promise<Socket>
  resizeExec(id: string, columns: number, rows: number): Promise<void>
  /** Null: the engine does not know it any more. */
  inspectExec(id: string): Promise<ExecDescription | null>
  hasNetwork(name: string): Promise<boolean>
  /** By id or name; null if there is none. */
  inspectNetwork(name: string): Promise<NetworkDescription | null>
  listNetworks(label: string): Promise<NetworkDescription[]>
  /** @param subnet null for one that the engine chooses */
  createNetwork(name: string, labels: Record<string, string>, subnet: string | null): Promise<void>
  /** Of one that is gone: nothing. */
  removeNetwork(name: string): Promise<void>
  close(): Promise<void>
}

const text = z.string().catch('')

const versionSchema = z.object({
  Version: text,
  Components: z.array(z.object({ Name: text })).catch([]),
})
const infoSchema = z.object({
  NCPU: z.number().catch(0),
  MemTotal: z.number().catch(0),
  DockerRootDir: text,
  CgroupDriver: text,
  CgroupVersion: text,
  SecurityOptions: z.array(z.string()).catch([]),
  /** Podman's way to say it. */
  Rootless: z.boolean().catch(false),
  MemoryLimit: z.boolean().catch(true),
  CpuCfsQuota: z.boolean().catch(true),
  PidsLimit: z.boolean().catch(true),
})

export interface EngineDescription {
  name: 'docker' | 'podman'
  version: string
  /** Of an ordinary user: containers have no rights that this user does not have. */
  rootless: boolean
  /** Users of containers are others outside of them. */
  remapsUsers: boolean
  cgroupDriver: string
  cgroupVersion: string
  limits: EngineLimits
  cpus: number
  memoryBytes: number
  /** Where it has its images; empty if it does not say. */
  rootDir: string
}

const imageSchema = z.object({
  Id: z.string(),
  RepoTags: z.array(z.string()).nullish(),
  RepoDigests: z.array(z.string()).nullish(),
  Size: z.number().catch(0),
  Config: z.object({ Entrypoint: z.array(z.string()).nullish(), Cmd: z.array(z.string()).nullish() }).nullish(),
})

export interface ImageDescription {
  /** `sha256:…` of its configuration. */
  id: string
  /** `name@sha256:…` of what registries call it. */
  repoTags: string[]
  repoDigests: string[]
}

const containerSchema = z.object({
  Id: z.string(),
  Image: text,
  State: z.object({
    Status: text,
    Pid: z.number().catch(0),
    ExitCode: z.number().catch(0),
    OOMKilled: z.boolean().catch(false),
    Error: text,
    StartedAt: text,
    FinishedAt: text,
  }),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }),
  HostConfig: z.object({ Devices: z.array(z.unknown()).nullish() }).nullish(),
})

export interface ContainerDescription {
  id: string
  labels: Record<string, string>
  /** `created`, `running`, `paused`, `restarting`, `removing`, `exited`, `dead`; of Podman also `configured`, `stopped`. */
  status: string
  pid: number
  /** Null if nobody knows. */
  exitCode: number | null
  oomKilled: boolean
  error: string
  startedAt: Date | null
  finishedAt: Date | null
  /** How many devices of the machine it has by name. */
  devices: number
}

const listSchema = z.array(
  z.object({ Id: z.string(), State: text, Labels: z.record(z.string(), z.string()).nullish() }),
)

export interface ListedContainer {
  id: string
  state: string
  labels: Record<string, string>
}

export interface EngineCommand {
  argv: readonly string[]
  /** As `NAME=value`, beside the container's own. */
  environ: readonly string[]
  directory: string
  terminal: { columns: number; rows: number } | null
}

const execSchema = z.object({
  Running: z.boolean().catch(false),
  Pid: z.number().catch(0),
  ExitCode: z.number().nullish(),
})

export interface ExecDescription {
  running: boolean
  /** 0 if it has not begun, or never will. */
  pid: number
  exitCode: number | null
}

const networkSchema = z.object({
  Name: z.string(),
  Labels: z.record(z.string(), z.string()).nullish(),
  IPAM: z.object({ Config: z.array(z.object({ Subnet: text })).nullish() }).nullish(),
})

export interface NetworkDescription {
  name: string
  labels: Record<string, string>
  /** Of addresses of version 4; null if it has none. */
  subnet: string | null
}

function describeNetwork({ Name, Labels, IPAM }: z.output<typeof networkSchema>): NetworkDescription {
  const subnet = IPAM?.Config?.map(({ Subnet }) => Subnet).find((each) => !each.includes(':'))
  return { name: Name, labels: Labels ?? {}, subnet: subnet ?? null }
}

/** `fs.ModeSymlink` of Go, in whose terms engines give the mode of a file. */
const GO_MODE_SYMLINK = 1 << 27
const pathStatSchema = z.object({ mode: z.number(), linkTarget: z.string().catch('') })
const eventSchema = z.object({ Actor: z.object({ ID: z.string() }) })

export interface EngineEvent {
  containerId: string
}

const pullSchema = z.object({
  status: text,
  id: text,
  progressDetail: z
    .object({ current: z.number().catch(0), total: z.number().catch(0) })
    .catch({ current: 0, total: 0 }),
  error: text,
  errorDetail: z.object({ message: text }).catch({ message: '' }),
  stream: text,
})

export type PullItem = z.output<typeof pullSchema>

/** Podman's words. */
const HAS_ENDED = /can only kill running|not running|state improper: (stopped|exited)/

/** @param socket its path */
export function openEngine(socket: string): Engine {
  const client = createEngineClient(socket)

  async function get<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
    const { status, text: body } = await client.request('GET', path, { allow: [404] })
    return status === 404 ? null : schema.parse(JSON.parse(body))
  }

  async function limitsOf(isPodman: boolean, rootless: boolean, info: z.output<typeof infoSchema>) {
    if (!isPodman) return { memory: info.MemoryLimit, cpu: info.CpuCfsQuota, processes: info.PidsLimit }
    if (!rootless) return ALL_LIMITS
    return delegatedLimits((await get('/v4.0.0/libpod/info', controllersSchema))?.host.cgroupControllers ?? [])
  }

  return {
    socket,
    async describe() {
      const version = (await get('/version', versionSchema))!
      const info = (await get('/info', infoSchema))!
      const isPodman = version.Components.some(({ Name }) => Name.includes('Podman'))
      const rootless = info.Rootless || info.SecurityOptions.some((option) => option.startsWith('name=rootless'))
      return {
        name: isPodman ? 'podman' : 'docker',
        version: version.Version,
        rootless,
        remapsUsers: info.SecurityOptions.some((option) => option.startsWith('name=userns')),
        cgroupDriver: info.CgroupDriver,
        cgroupVersion: info.CgroupVersion,
        limits: await limitsOf(isPodman, rootless, info),
        cpus: info.NCPU,
        memoryBytes: info.MemTotal,
        rootDir: info.DockerRootDir,
      }
    },
    async inspectImage(reference) {
      const image = await get(`/images/${encodeURIComponent(reference)}/json`, imageSchema)
      if (image === null) return null
      const id = image.Id.startsWith('sha256:') ? image.Id : `sha256:${image.Id}`
      const names = (listed: string[] | null | undefined) => (listed ?? []).filter((name) => !name.includes('<none>'))
      return { id, repoTags: names(image.RepoTags), repoDigests: names(image.RepoDigests) }
    },
    async *pull(reference, authorisation, signal) {
      const body = await client.stream('POST', '/images/create', {
        query: { fromImage: reference },
        headers: authorisation === null ? {} : { 'x-registry-auth': authorisation },
        signal,
      })
      for await (const line of readLines(body)) yield pullSchema.parse(JSON.parse(line))
    },
    async removeImage(reference) {
      const { status } = await client.request('DELETE', `/images/${encodeURIComponent(reference)}`, {
        allow: [404, 409],
      })
      return status !== 409
    },
    async create(name, body) {
      const isPodmans = cdiDevices(body).length > 0
      const { text: created } = isPodmans
        ? await client.request('POST', '/v4.0.0/libpod/containers/create', { body: podmanSpec(name, body) })
        : await client.request('POST', '/containers/create', { query: { name }, body })
      return z.object({ Id: z.string() }).parse(JSON.parse(created)).Id
    },
    async start(id) {
      await client.request('POST', `/containers/${id}/start`, { allow: [304] })
    },
    async kill(id, signal) {
      try {
        const { status } = await client.request('POST', `/containers/${id}/kill`, {
          query: { signal },
          allow: [404, 409],
        })
        return status !== 404 && status !== 409
      } catch (error) {
        if (error instanceof EngineError && HAS_ENDED.test(error.message)) return false
        throw error
      }
    },
    async inspect(id) {
      const found = await get(`/containers/${encodeURIComponent(id)}/json`, containerSchema)
      if (found === null) return null
      const { Status, Pid, ExitCode, OOMKilled, Error: error, StartedAt, FinishedAt } = found.State
      return {
        id: found.Id,
        labels: found.Config.Labels ?? {},
        status: Status,
        pid: Pid,
        exitCode: ExitCode,
        oomKilled: OOMKilled,
        error,
        startedAt: timeOf(StartedAt),
        finishedAt: timeOf(FinishedAt),
        devices: found.HostConfig?.Devices?.length ?? 0,
      }
    },
    async list(label, timeoutMs) {
      const filters = JSON.stringify({ label: [label] })
      const query = { all: 1, filters }
      const { text: listed } = await client.request('GET', '/containers/json', { query, timeoutMs })
      return listSchema
        .parse(JSON.parse(listed))
        .map(({ Id, State, Labels }) => ({ id: Id, state: State.toLowerCase(), labels: Labels ?? {} }))
    },
    async remove(id) {
      await client.request('DELETE', `/containers/${encodeURIComponent(id)}`, {
        query: { force: 1, v: 1 },
        allow: [404],
      })
    },
    async linkTarget(id, path) {
      const { status, headers } = await client.request('HEAD', `/containers/${id}/archive`, {
        query: { path },
        allow: [404],
      })
      if (status === 404) return null
      const stat = Buffer.from(String(headers['x-docker-container-path-stat']), 'base64').toString()
      const { mode, linkTarget } = pathStatSchema.parse(JSON.parse(stat))
      return mode & GO_MODE_SYMLINK ? linkTarget : ''
    },
    async *events(label, since, signal) {
      // Docker calls it `die`; Podman filters by `died`, and then calls it `die` as well.
      const filters = JSON.stringify({ type: ['container'], event: ['die', 'died'], label: [label] })
      const query = { filters, since: (since.getTime() / 1000).toFixed(3) }
      const body = await client.stream('GET', '/events', { query, signal })
      for await (const line of readLines(body)) {
        const parsed = eventSchema.safeParse(JSON.parse(line))
        if (parsed.success) yield { containerId: parsed.data.Actor.ID }
      }
    },
    logs(id, { follow, since, signal }) {
      const seconds = since === undefined ? undefined : (since.getTime() / 1000).toFixed(3)
      const query = { stdout: 1, stderr: 1, follow: follow ? 1 : 0, since: seconds }
      return client.stream('GET', `/containers/${id}/logs`, { query, signal })
    },
    async createExec(containerId, { argv, environ, directory, terminal }) {
      const streams = { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: terminal !== null }
      const body = { ...streams, Cmd: argv, Env: environ, WorkingDir: directory }
      const { text: created } = await client.request('POST', `/containers/${containerId}/exec`, { body })
      return z.object({ Id: z.string() }).parse(JSON.parse(created)).Id
    },
    async startExec(id, { terminal }) {
      const { columns: w, rows: h } = terminal ?? {}
      // Engines call the size so or so, and old ones of Docker do not know it here.
      const size = terminal !== null && { w, h, ConsoleSize: [h, w] }
      return client.hijack(`/exec/${id}/start`, { Detach: false, Tty: terminal !== null, ...size })
    },
    async resizeExec(id, columns, rows) {
      await client.request('POST', `/exec/${id}/resize`, { query: { w: columns, h: rows } })
    },
    async inspectExec(id) {
      const found = await get(`/exec/${id}/json`, execSchema)
      if (found === null) return null
      return { running: found.Running, pid: found.Pid, exitCode: found.ExitCode ?? null }
    },
    async hasNetwork(name) {
      return (await get(`/networks/${encodeURIComponent(name)}`, z.object({}))) !== null
    },
    async inspectNetwork(name) {
      const found = await get(`/networks/${encodeURIComponent(name)}`, networkSchema)
      return found === null ? null : describeNetwork(found)
    },
    async listNetworks(label) {
      const filters = JSON.stringify({ label: [label] })
      const { text: listed } = await client.request('GET', '/networks', { query: { filters } })
      return z.array(networkSchema).parse(JSON.parse(listed)).map(describeNetwork)
    },
    async createNetwork(name, labels, subnet) {
      const ipam = subnet !== null && { IPAM: { Config: [{ Subnet: subnet }] } }
      const body = { Name: name, CheckDuplicate: true, Driver: 'bridge', Labels: labels, ...ipam }
      await client.request('POST', '/networks/create', { body })
    },
    async removeNetwork(name) {
      await client.request('DELETE', `/networks/${encodeURIComponent(name)}`, { allow: [404] })
    },
    close: () => client.close(),
  }
}

/** Null for the year 1, which stands for never. */
function timeOf(value: string): Date | null {
  const time = new Date(value)
  return Number.isFinite(time.getTime()) && time.getTime() > 0 ? time : null
}
