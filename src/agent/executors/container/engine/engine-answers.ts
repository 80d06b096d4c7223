import { z } from 'zod'
import type { EngineLimits } from './engine-client.ts'

/** The engine's answers that are read here, and what the executor makes of them. */

const text = z.string().catch('')

export const versionSchema = z.object({
  Version: text,
  Components: z.array(z.object({ Name: text })).catch([]),
})
export const infoSchema = z.object({
  NCPU: z.number().catch(0),
  MemTotal: z.number().catch(0),
  KernelVersion: text,
  Name: text,
  DockerRootDir: text,
  CgroupDriver: text,
  CgroupVersion: text,
  SecurityOptions: z.array(z.string()).catch([]),
  /** Podman's name of the field. */
  Rootless: z.boolean().catch(false),
  MemoryLimit: z.boolean().catch(true),
  CpuCfsQuota: z.boolean().catch(true),
  PidsLimit: z.boolean().catch(true),
})

export interface EngineDescription {
  name: 'docker' | 'podman'
  version: string
  /** The engine of an ordinary user: containers have no rights that this user does not have. */
  rootless: boolean
  /** Users in containers have other ids outside. */
  remapsUsers: boolean
  cgroupDriver: string
  cgroupVersion: string
  limits: EngineLimits
  cpus: number
  memoryBytes: number
  /** Release of the operating system's kernel; empty if it does not report it. */
  kernelVersion: string
  /** Name of the machine; empty if it does not report it. */
  hostName: string
  /** Directory of its images; empty if it does not report it. */
  rootDir: string
}

export const imageSchema = z.object({
  Id: z.string(),
  RepoTags: z.array(z.string()).nullish(),
  RepoDigests: z.array(z.string()).nullish(),
  Size: z.number().catch(0),
  Config: z.object({ Entrypoint: z.array(z.string()).nullish(), Cmd: z.array(z.string()).nullish() }).nullish(),
})

export interface ImageDescription {
  /** `sha256:…` of its configuration. */
  id: string
  /** `name@sha256:…` as registries know it. */
  repoTags: string[]
  repoDigests: string[]
}

export const containerSchema = z.object({
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
  /**
   * `created`, `running`, `paused`, `restarting`, `removing`, `exited`, `dead`; Podman also has `configured` and
   * `stopped`.
   */
  status: string
  pid: number
  /** Null if unknown. */
  exitCode: number | null
  oomKilled: boolean
  error: string
  startedAt: Date | null
  finishedAt: Date | null
  /** Number of the machine's devices that it has by name. */
  devices: number
}

export const listSchema = z.array(
  z.object({ Id: z.string(), State: text, Labels: z.record(z.string(), z.string()).nullish() }),
)

export interface ListedContainer {
  id: string
  state: string
  labels: Record<string, string>
}

export interface EngineCommand {
  argv: readonly string[]
  /** As `NAME=value`, in addition to the container's own. */
  environ: readonly string[]
  directory: string
  terminal: { columns: number; rows: number } | null
}

export const execSchema = z.object({
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

export const networkSchema = z.object({
  Name: z.string(),
  Labels: z.record(z.string(), z.string()).nullish(),
  IPAM: z.object({ Config: z.array(z.object({ Subnet: text })).nullish() }).nullish(),
})

export interface NetworkDescription {
  name: string
  labels: Record<string, string>
  /** Subnet of IPv4 addresses; null if it has none. */
  subnet: string | null
}

export function describeNetwork({ Name, Labels, IPAM }: z.output<typeof networkSchema>): NetworkDescription {
  const subnet = IPAM?.Config?.map(({ Subnet }) => Subnet).find((each) => !each.includes(':'))
  return { name: Name, labels: Labels ?? {}, subnet: subnet ?? null }
}

/** `fs.ModeSymlink` of Go, whose file modes engines use. */
export const GO_MODE_SYMLINK = 1 << 27
export const pathStatSchema = z.object({ mode: z.number(), linkTarget: z.string().catch('') })
export const eventSchema = z.object({ Actor: z.object({ ID: z.string() }) })

export interface EngineEvent {
  containerId: string
}

export const pullSchema = z.object({
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

/** Returns null for the year 1, which engines use for "never". */
export function timeOf(value: string): Date | null {
  const time = new Date(value)
  return Number.isFinite(time.getTime()) && time.getTime() > 0 ? time : null
}
