import type { GpuNeed } from '../gpu.ts'
import { formatDecimal } from '../amounts.ts'
import { SLOT_FRACTION_DIGITS_MAX } from '../limits.ts'
import type { ClusterMode } from '../session/lifecycle.ts'
import type { Mount } from '../session/mounts.ts'

/**
 * Exact slot amounts, in whole billionths: decimals of one scale. Placement adds and compares hundreds of thousands of
 * them, and floating point would oversell after a few thousand kernels of `cpu: 0.1`.
 */
export type Quantity = bigint

/**
 * Parses a plain decimal.
 * @throws RangeError if the text is none, or has more than 9 fraction digits
 */
export function parseQuantity(text: string): Quantity {
  const match = /^(-?\d{1,30})(?:\.(\d{1,9}))?$/.exec(trimZeros(text))
  if (!match) throw new RangeError(`no amount of a slot: ${text}`)
  const whole = match[1]!
  const fraction = (match[2] ?? '').padEnd(SLOT_FRACTION_DIGITS_MAX, '0')
  return BigInt(whole + fraction)
}

export function formatQuantity(quantity: Quantity): string {
  const text = formatDecimal({ units: quantity < 0n ? -quantity : quantity, scale: SLOT_FRACTION_DIGITS_MAX })
  return quantity < 0n ? `-${text}` : text
}

export type Quantities = ReadonlyMap<string, Quantity>

export function parseQuantities(amounts: Readonly<Record<string, string>>): Map<string, Quantity> {
  return new Map(Object.entries(amounts).map(([slot, amount]) => [slot, parseQuantity(amount)]))
}

export function addQuantities(to: Map<string, Quantity>, amounts: Quantities): void {
  for (const [slot, amount] of amounts) to.set(slot, (to.get(slot) ?? 0n) + amount)
}

/**
 * A session's demand, and the agents that may run it. Of sessions with equal requests, all fit or none does; only the
 * agents that they avoid make a difference.
 */
export interface ResourceRequest {
  /** Equal keys mean equal requests. */
  key: string
  clusterMode: ClusterMode
  kernels: number
  /** The demand of each kernel. */
  slots: Quantities
  /** The only agents allowed; empty means all. */
  allowAgents: ReadonlySet<string>
  /** Agents that are not allowed. */
  excludeAgents: ReadonlySet<string>
  /** Labels that an agent must have, all of them. */
  agentLabels: Readonly<Record<string, string>>
  /** Volumes that an agent must have, all of them; null for none. */
  volumeNeed: VolumeNeed | null
  /** Whether ports of the agent's kernels must be reachable. */
  needsPorts: boolean
  /** What its GPUs must be like; null if any will do, or if it asks for none. */
  gpuNeed: GpuNeed | null
}

/** Builds the request of a session. The order of slots does not matter, and a slot with amount 0 counts as missing. */
export function resourceRequest(session: {
  clusterMode: ClusterMode
  kernels: number
  slots: Quantities
  allowAgents: readonly string[]
  excludeAgents: readonly string[]
  agentLabels: Readonly<Record<string, string>>
  volumeNeed?: VolumeNeed | null
  needsPorts?: boolean
  gpuNeed?: GpuNeed | null
}): ResourceRequest {
  const { clusterMode, kernels, agentLabels, volumeNeed = null, needsPorts = false, gpuNeed = null } = session
  const slots = new Map([...session.slots].filter(([, amount]) => amount > 0n).toSorted(byKey))
  const allowed = session.allowAgents.toSorted()
  const excluded = session.excludeAgents.toSorted()
  const labels = Object.entries(agentLabels).toSorted(byKey)
  const mode = kernels === 1 ? 'SINGLE_NODE' : clusterMode
  const key = JSON.stringify([
    mode,
    kernels,
    [...slots].map(([slot, amount]) => [slot, String(amount)]),
    allowed,
    excluded,
    labels,
    volumeNeed,
    needsPorts,
    gpuNeed && [gpuNeed.model, gpuNeed.memoryBytes],
  ])
  const needs = { volumeNeed, needsPorts, gpuNeed }
  const agents = { allowAgents: new Set(allowed), excludeAgents: new Set(excluded), agentLabels, ...needs }
  return { key, clusterMode: mode, kernels, slots, ...agents }
}

/**
 * The part of a session that is placed as a whole: all kernels of a single-node session, or one kernel of a multi-node
 * one.
 */
export interface Unit {
  demand: Quantities
  kernels: number
  /** The number of units in the session. */
  count: number
}

export function unitOf(request: ResourceRequest): Unit {
  return request.clusterMode === 'SINGLE_NODE'
    ? { demand: times(request.slots, request.kernels), kernels: request.kernels, count: 1 }
    : { demand: request.slots, kernels: 1, count: request.kernels }
}

/** The session's total demand. */
export function totalOf(request: ResourceRequest): Quantities {
  return times(request.slots, request.kernels)
}

/** The volumes that a session needs, and its project. */
export interface VolumeNeed {
  /** The project's name, by which agents know it. */
  project: string
  mounts: readonly Mount[]
}

/** A volume that an agent offers. */
export interface OfferedVolume {
  name: string
  readOnly: boolean
  /** Names of the projects that may use it; null for all projects. */
  projects: readonly string[] | null
}

/** Whether one agent offers all needed volumes to this project, with write access where the session wants it. */
export function offersAll(volumes: readonly OfferedVolume[], { project, mounts }: VolumeNeed): boolean {
  return mounts.every((mount) => volumes.some((volume) => isOffered(volume, mount, project)))
}

/**
 * Explains why none of these agents has all needed volumes; `who` names the agents in the text. Volumes of other
 * projects are treated like missing ones, because members of this project read the text.
 */
export function missingVolumes(
  agents: readonly { volumes: readonly OfferedVolume[] }[],
  { project, mounts }: VolumeNeed,
  who: string,
): string {
  const has = (mount: Mount) => agents.some(({ volumes }) => offersAll(volumes, { project, mounts: [mount] }))
  const missing = mounts.find((mount) => !has(mount))
  if (missing === undefined) {
    return `${who} has all of the volumes ${mounts.map(({ volume }) => volume).join(', ')} for project ${project}`
  }
  const toRead = has({ ...missing, readOnly: true }) ? ' to write to, though to read: mount it read-only' : ''
  return `${who} has volume ${missing.volume} for project ${project}${toRead}`
}

/** Removes the zeros that PostgreSQL's numeric may have beyond the ninth digit. */
function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function times(slots: Quantities, count: number): Quantities {
  return count === 1 ? slots : new Map([...slots].map(([slot, amount]) => [slot, amount * BigInt(count)]))
}

function isOffered({ name, readOnly, projects }: OfferedVolume, mount: Mount, project: string): boolean {
  return name === mount.volume && (projects === null || projects.includes(project)) && (mount.readOnly || !readOnly)
}
