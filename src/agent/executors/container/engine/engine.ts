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
  readLines,
} from './engine-client.ts'
import {
  versionSchema,
  infoSchema,
  imageSchema,
  containerSchema,
  listSchema,
  execSchema,
  networkSchema,
  pathStatSchema,
  eventSchema,
  pullSchema,
  describeNetwork,
  GO_MODE_SYMLINK,
  timeOf,
  type EngineDescription,
  type ImageDescription,
  type ContainerDescription,
  type ListedContainer,
  type EngineCommand,
  type ExecDescription,
  type NetworkDescription,
  type EngineEvent,
  type PullItem,
} from './engine-answers.ts'
import { cdiDevices, podmanSpec } from './podman-spec.ts'

/** The part of Docker's API that the executor needs and that Docker and Podman share. */
export interface Engine {
  readonly socket: string
  describe(): Promise<EngineDescription>
  /** Returns null if there is no such image. */
  inspectImage(reference: string): Promise<ImageDescription | null>
  /** Yields progress while it comes; the pull has ended when the iteration ends. */
  pull(reference: string, authorisation: string | null, signal: AbortSignal): AsyncIterable<PullItem>
  /**
   * Removes an image by id or name. If it has other names, only this name is removed. @returns false if a container
   * uses it
   */
  removeImage(reference: string): Promise<boolean>
  /** @returns the container's id */
  create(name: string, body: CreateBody): Promise<string>
  /** Starts a container. If it already runs, that is no error. */
  start(id: string): Promise<void>
  /** @returns false if the container has ended, which engines report in different ways */
  kill(id: string, signal: 'SIGTERM' | 'SIGKILL' | 'SIGCONT'): Promise<boolean>
  /** Looks up a container by id or name; returns null if there is none. */
  inspect(id: string): Promise<ContainerDescription | null>
  /** @param withinMs time limit of the answer */
  list(label: string, withinMs?: number): Promise<ListedContainer[]>
  /** Removes a container, even a running one, with its anonymous volumes. A missing one is no error. */
  remove(id: string): Promise<void>
  /**
   * Returns where a symbolic link in a container's file system leads, as an absolute path in it. Returns '' if the path
   * is no link, and null if nothing exists there.
   */
  linkTarget(id: string, path: string): Promise<string | null>
  /**
   * Yields ends of containers with the label, from `since` on, until the signal aborts or the engine ends the stream.
   */
  events(label: string, since: Date, signal: AbortSignal): AsyncIterable<EngineEvent>
  /** Returns framed output from the beginning, or from `since` on. */
  logs(id: string, options: { follow: boolean; since?: Date; signal: AbortSignal }): Promise<Readable>
  /** Creates a command beside the container's own. @returns its id */
  createExec(containerId: string, command: EngineCommand): Promise<string>
  /**
   * Starts the command, and returns its input and output, which is framed unless it has a terminal. The engine answers
   * before the command has begun.
   */
  startExec(id: string, command: EngineCommand): Promise<Socket>
  resizeExec(id: string, columns: number, rows: number): Promise<void>
  /** Returns null if the engine no longer knows the command. */
  inspectExec(id: string): Promise<ExecDescription | null>
  hasNetwork(name: string): Promise<boolean>
  /** Looks up a network by id or name; returns null if there is none. */
  inspectNetwork(name: string): Promise<NetworkDescription | null>
  listNetworks(label: string): Promise<NetworkDescription[]>
  /** @param subnet null to let the engine choose */
  createNetwork(name: string, labels: Record<string, string>, subnet: string | null): Promise<void>
  /** Removes a network. A missing one is no error. */
  removeNetwork(name: string): Promise<void>
  close(): Promise<void>
}

/** Podman's messages for a container that has ended. */
const HAS_ENDED = /can only kill running|not running|state improper: (stopped|exited)/

/** @param socket path of its socket */
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
        kernelVersion: info.KernelVersion,
        hostName: info.Name,
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
      // Docker calls the event `die`. Podman filters by `died`, but then also calls it `die`.
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
      // Engines have different names for the size, and old versions of Docker do not accept it here.
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
