import type { Session } from '../../client/node/index.ts'
import type { Terminal } from './terminal.ts'

/** Formats a duration: `0.4 s`, `12 s`, `3 m 5 s`, `2 h 10 m`, `4 d 3 h`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–'
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`
  const whole = Math.round(seconds)
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'm'],
    [1, 's'],
  ] as const
  const first = units.findIndex(([size]) => whole >= size)
  let rest = whole
  const parts = units.slice(first, first + 2).map(([size, unit]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? '' : `${count} ${unit}`
  })
  return parts.filter(Boolean).join(' ')
}

/**
 * Formats a time relative to now: a past time in its largest unit, `3 m ago`; a future time in two units, because
 * people wait for it, `in 1 m 20 s`.
 */
export function relative(at: string | null | undefined, now = Date.now()): string {
  if (!at) return '–'
  const seconds = (Date.parse(at) - now) / 1000
  if (Math.abs(seconds) < 1) return 'now'
  return seconds > 0 ? `in ${duration(seconds)}` : `${age(-seconds)} ago`
}

function age(seconds: number): string {
  return seconds < 60 ? duration(seconds) : duration(seconds).split(' ', 2).join(' ')
}

/** Formats a time in local time, with its zone: `2026-11-21 12:00:03+01:00`. */
export function instant(at: string | null | undefined): string {
  if (!at) return '–'
  return `${localText(at).slice(0, 19).replace('T', ' ')}${zone(at)}`
}

/** Formats the local time of day, with milliseconds and its zone: `12:00:03.250Z`. */
export function timeOfDay(at: string): string {
  return `${localText(at).slice(11, 23)}${zone(at)}`
}

function localText(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString()
}

/** Formats the zone: `+01:00`, or `Z` for UTC. */
function zone(at: string): string {
  const minutes = -new Date(at).getTimezoneOffset()
  if (minutes === 0) return 'Z'
  const text = (value: number) => String(value).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${text(Math.floor(Math.abs(minutes) / 60))}:${text(Math.abs(minutes) % 60)}`
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** Formats bytes in units of 1024, as `mem` counts them: `512 B`, `1.5 MiB`, `104 MiB`. */
export function binaryBytes(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= 1023.5 && unit < BYTE_UNITS.length - 1) {
    size /= 1024
    unit++
  }
  return `${size < 9.95 ? Number(size.toFixed(1)) : Math.round(size)} ${BYTE_UNITS[unit]}`
}

/**
 * Formats the use of a slot: `cpu 3/8`, `mem 1.5/16 GiB`, `mem 512 MiB/16 GiB`; one unit for both if it is the same.
 */
/** `model a100, at least 40 GiB each`. */
export function gpuNeed({ model, memoryBytes }: { model: string | null; memoryBytes: number | null }): string {
  const memory = memoryBytes === null ? null : `at least ${binaryBytes(memoryBytes)} each`
  return [model && `model ${model}`, memory].filter(Boolean).join(', ')
}

export function slotUse({ slot, capacity, used }: { slot: string; capacity: string; used: string }): string {
  const all = slotAmount(slot, capacity)
  const now = slotAmount(slot, used)
  const [number, unit] = now.split(' ')
  return `${slot} ${used === '0' || (unit && all.endsWith(` ${unit}`)) ? number : now}/${all}`
}

/** Formats slots: `cpu 2, mem 512 MiB`. */
export function slotList(slots: readonly { slot: string; amount: string }[]): string {
  return slots.map(({ slot, amount }) => `${slot} ${slotAmount(slot, amount)}`).join(', ')
}

const SLOT_UNITS = ['TiB', 'GiB', 'MiB', 'KiB'] as const

/**
 * Formats an amount, such as `512 MiB`, in a form that the server accepts, too. Slots that are not memory have no unit.
 */
function slotAmount(slot: string, amount: string): string {
  if (slot !== 'mem' && !slot.endsWith('.mem')) return amount
  const bytes = Number(amount)
  const at = SLOT_UNITS.findIndex((_, index) => bytes >= 1024 ** (SLOT_UNITS.length - index))
  return at < 0 ? amount : `${Number((bytes / 1024 ** (SLOT_UNITS.length - at)).toFixed(2))} ${SLOT_UNITS[at]}`
}

/** Formats a mount in the form that `--mount` takes. */
export function mountText({ volume, path, readOnly }: Session['mounts'][number]): string {
  return `${volume}:${path}${readOnly ? ':ro' : ''}`
}

/**
 * Length of a shortened id: the milliseconds of a time-ordered UUID, and 12 bits that differ within one millisecond.
 */
const SHOWN_LENGTH = '00000000-0000-7000'.length

/**
 * Formats an id within a line. A terminal shows its beginning, which is nearly always unique; commands accept it as the
 * id.
 */
export function shortId(id: string, { columns }: Terminal): string {
  return columns === undefined ? id : id.slice(0, SHOWN_LENGTH)
}

/** Formats where a token has its role: a project, the resource groups of its agents, or everything. */
export function tokenScope(token: {
  role: string
  project: { name: string } | null
  resourceGroups: readonly string[]
}): string {
  const { role, project, resourceGroups } = token
  if (project !== null) return project.name
  if (role !== 'AGENT') return 'the whole cluster'
  if (resourceGroups.length === 0) return 'all resource groups'
  return `the resource ${resourceGroups.length === 1 ? 'group' : 'groups'} ${resourceGroups.join(', ')}`
}

/** Formats a number with its noun: `1 retry`, `3 retries`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
