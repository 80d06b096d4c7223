import { Command } from 'commander'
import {
  type Client,
  type CreateSessionGroupInput,
  type CreateSessionInput,
  NotFoundError,
  type SessionGroup,
  type SessionGroupDependencyInput,
} from '../../client/node/index.ts'
import { act, type ClientContext, describedCommand, showFirst, take, takeAll } from '../client-command.ts'
import { exitStatus } from '../exit-codes.ts'
import { isId } from '../find.ts'
import { findNamedInput, type KnownIds } from '../options/find-in-options.ts'
import { wholeNumber } from '../options/values.ts'
import { relative } from '../output/format.ts'
import { type Output, progressBar } from '../output/output.ts'
import { type Column, formatFields } from '../output/table.ts'
import { statusStyle } from '../output/terminal.ts'
import { UsageError } from '../present-error.ts'
import type { PlannedSession } from '../job/plan-jobs.ts'
import { formerGroupCommands } from '../resource-group.ts'

export function groupsCommand(): Command {
  const command = new Command('groups')
    .description('groups of sessions, such as the tasks of an array')
    .addCommand(list(), { isDefault: true })
    .addCommand(show())
  for (const former of formerGroupCommands()) command.addCommand(former, { hidden: true })
  return command
}

interface ListOptions {
  project?: string
  live?: true
  limit?: number
}

function list(): Command {
  const command = describedCommand('list', 'list groups of sessions, newest first', [
    'reprise groups',
    'reprise groups --live',
  ])
    .option('-p, --project <project>', 'only groups of this project')
    .option('--live', 'only groups that have not ended')
    .option('--limit <n>', 'only the first n; 0 means all (default: 20)', wholeNumber)
  return act<ListOptions>(command, async ({ client, out, signal }, { project, live, limit = 20 }) => {
    const filter = { project, ended: live === true ? false : undefined }
    await showFirst(out, { limit, of: client.sessionGroups({ filter }, { signal }) }, COLUMNS, 'no groups')
  })
}

const COLUMNS: readonly Column<SessionGroup>[] = [
  { title: 'GROUP', value: ({ groupId }) => groupId },
  { title: 'NAME', value: ({ name, key }) => key ?? name, flexible: true },
  { title: 'STATE', value: ({ state }) => state },
  { title: 'ENDED', value: (group) => progressWords(group), align: 'right' },
  { title: 'FAILED', value: ({ counts }) => counts.failed, align: 'right' },
  { title: 'RUNNING', value: ({ counts }) => counts.running, align: 'right' },
  { title: 'CREATED', value: ({ createdAt }) => relative(createdAt), align: 'right' },
]

function progressWords({ counts: { succeeded, failed, cancelled, total } }: SessionGroup): string {
  return `${succeeded + failed + cancelled}/${total}`
}

export const GROUP_ARGUMENT = 'id, key or name of a group; a name means the newest one'

function show(): Command {
  const command = describedCommand('show', 'show a group: its counts, limits and first failures', [
    'reprise groups show sweep',
  ]).argument('<group>', GROUP_ARGUMENT)
  return act<object>(command, async ({ client, out, signal }, _options, [text]) => {
    const group = await findGroup(client, text!)
    const failed = await firstFailures(client, group, signal)
    await out.showSoon({ ...group, failures: failed }, async () => describeGroup(out, group, failed))
  })
}

function describeGroup(out: Output, group: SessionGroup, failed: readonly Failure[]): string {
  const { name, key, groupId, state, reason, counts, maxRunning, createdBy, createdAt, endedAt } = group
  const style = statusStyle(state)
  const fields: [string, string | null][] = [
    ['group', key === null || key === name ? `${name} ${groupId}` : `${name} (${key}) ${groupId}`],
    ['state', style ? out.terminal.style(style, state) : state],
    ['why', reason],
    ['members', countsWords(counts)],
    ['limits', limitWords(group)],
    ['after', afterWords(group)],
    ['at a time', maxRunning === null ? null : String(maxRunning)],
    ['created', `${relative(createdAt)}${createdBy === null ? '' : ` by ${createdBy}`}`],
    ['ended', endedAt === null ? null : relative(endedAt)],
    ...failed.map((each): [string, string] => [`failed [${each.index}]`, failureWords(each)]),
  ]
  const given = fields.filter((field): field is [string, string] => field[1] !== null && field[1] !== '')
  return formatFields(given, out.terminal)
}

function countsWords(counts: SessionGroup['counts']): string {
  const { total, ...rest } = counts
  const words = Object.entries(rest).flatMap(([state, count]) => (count === 0 ? [] : [`${count} ${state}`]))
  return `${total}: ${words.join(', ') || 'none'}`
}

function limitWords({ maxFailed, maxFailedPercent, minSucceeded }: SessionGroup): string {
  return [
    ...(maxFailed === null ? [] : [`fails with ${maxFailed} failed`]),
    ...(maxFailedPercent === null ? [] : [`fails with ${maxFailedPercent} % failed`]),
    ...(minSucceeded === null ? [] : [`succeeds with ${minSucceeded} succeeded`]),
  ].join(', ')
}

/** `sweep`, `sweep (same-index)`; with what has become of it. */
function afterWords({ dependsOn }: SessionGroup): string {
  const words = dependsOn.map(({ group, condition, met }) => {
    const how = condition === 'ALL_SUCCEEDED' ? '' : ` (${condition.toLowerCase().replace('_', '-')})`
    const state =
      condition === 'SAME_INDEX' ? '' : met === null ? ', waits for it' : met ? '' : ', which did not succeed'
    return `${group?.name ?? 'a removed group'}${how}${state}`
  })
  return words.join('; ')
}

interface Failure {
  index: number | null
  name: string
  chainId: string
  sessionId: string
  reason: string | null
}

const FAILURES_SHOWN = 5

async function firstFailures(client: Client, { groupId }: SessionGroup, signal: AbortSignal): Promise<Failure[]> {
  const { items } = await take(
    client.chains({ filter: { group: groupId, state: ['FAILED'] } }, { signal }),
    FAILURES_SHOWN,
  )
  return items.map(({ groupIndex, name, chainId, newestAttempt, outlook }) => ({
    index: groupIndex,
    name,
    chainId,
    sessionId: newestAttempt.sessionId,
    reason: outlook.reason,
  }))
}

function failureWords({ name, sessionId, reason }: Failure): string {
  return `${name} ${sessionId}${reason === null ? '' : `: ${reason}`}`
}

/** Finds a group by its id, its key or its name. @throws NotFoundError */
export async function findGroup(client: Client, text: string): Promise<SessionGroup> {
  const found = await lookForGroup(client, text)
  if (found) return found
  throw new NotFoundError('GROUP_NOT_FOUND', `There is no group with the id, the key or the name ${text}.`)
}

async function lookForGroup(client: Client, text: string): Promise<SessionGroup | undefined> {
  if (isId(text)) {
    return client.sessionGroup({ id: text }).catch((error: unknown) => {
      if (error instanceof NotFoundError) return undefined
      throw error
    })
  }
  const { items } = await take(client.sessionGroups({ filter: { search: text } }), 100)
  return items.find(({ key }) => key === text) ?? items.find(({ name }) => name === text)
}

/**
 * Finds the group that an argument means, in commands that also take sessions: what is the id or the key of a group, or
 * the name of a group and of no session.
 */
export async function groupNamed(client: Client, text: string): Promise<SessionGroup | undefined> {
  const group = await lookForGroup(client, text)
  if (group === undefined || isId(text) || group.key === text) return group
  const { nodes } = await client.sessionPage({ filter: { name: { equals: text } }, first: 1 })
  return nodes.length === 0 ? group : undefined
}

/** Returns the newest attempts of a group's members, by index; only of those in these states, if they are given. */
export async function newestAttempts(
  { client, signal }: ClientContext,
  { groupId }: SessionGroup,
  state?: ('FAILED' | 'CANCELLED' | 'SUCCEEDED')[],
): Promise<string[]> {
  const members = await takeAll(client.chains({ filter: { group: groupId, state } }, { signal }))
  return members.toSorted((a, b) => a.groupIndex! - b.groupIndex!).map(({ newestAttempt }) => newestAttempt.sessionId)
}

export interface GroupOptions {
  group?: string
  afterGroup?: string[]
  maxFailed?: { count?: number; percent?: number }
  minSucceeded?: number
  onFailure?: 'LET_RUN' | 'STOP'
}

/** Whether the sessions are to be created as a group. @throws UsageError */
export function wantsGroup({ group, ...ofGroups }: GroupOptions): boolean {
  if (group !== undefined) return true
  const { afterGroup, maxFailed, minSucceeded, onFailure } = ofGroups
  if ([afterGroup, maxFailed, minSucceeded, onFailure].every((each) => each === undefined)) return false
  const options = '--max-failed, --min-succeeded, --on-failure and --after-group'
  throw new UsageError(`${options} are for a group: name it with --group.`)
}

/** Members that one call creates, if each has its own input, and if all have the same. */
const MEMBERS_AT_ONCE = 1_000
const EQUALS_AT_ONCE = 10_000

/** Creates a group with these members; the command may be repeated. */
export async function createGroupOf(
  { client, out, signal }: ClientContext,
  planned: readonly PlannedSession[],
  { group: key, afterGroup = [], maxFailed, minSucceeded, onFailure }: GroupOptions,
): Promise<SessionGroup> {
  const known: KnownIds = { sessions: new Map(), agents: new Map() }
  const bar = progressBar('creating')
  const numbers = planned.map(({ number }, at) => number ?? at)
  const limit = planned[0]?.atATime
  const sessions: CreateSessionInput[] = []
  for (const { input } of planned) sessions.push(await findNamedInput(client, input, known))
  const dependsOn: SessionGroupDependencyInput[] = []
  for (const text of afterGroup) dependsOn.push(await dependencyOf(client, text))
  const areEqual = sessions.length > 1 && new Set(sessions.map((each) => JSON.stringify(each))).size === 1
  const size = areEqual ? EQUALS_AT_ONCE : MEMBERS_AT_ONCE
  const input: CreateSessionGroupInput = {
    name: key!,
    key,
    maxFailed: maxFailed?.count,
    maxFailedPercent: maxFailed?.percent,
    minSucceeded,
    maxRunning: limit,
    onFailure,
    dependsOn,
    open: planned.length > size,
  }
  const partOf = (from: number) => ({
    sessions: areEqual ? sessions.slice(0, 1) : sessions.slice(from, from + size),
    indexes: ranges(numbers.slice(from, from + size)),
  })
  try {
    const first = partOf(0)
    const made = await client.createGroup(first.sessions, { ...input, indexes: first.indexes }, { signal })
    const { created } = made
    let { group } = made
    for (let at = size; at < planned.length && group.state === 'OPEN'; at += size) {
      const close = at + size >= planned.length
      ;({ group } = await client.addSessions({ groupId: group.groupId, ...partOf(at), close }, { signal }))
      bar.update(Math.min(planned.length, at + size), planned.length)
    }
    bar.end()
    const { groupId, name, counts } = group
    if (out.json) out.item({ type: 'created', created, group }, () => '')
    else out.note(`group ${name} ${groupId}: ${counts.total} members${created ? '' : '; it already existed'}`)
    return group
  } finally {
    bar.end()
  }
}

/** Parses `sweep`, `sweep:ended` or `sweep:same-index`. @throws NotFoundError */
async function dependencyOf(client: Client, text: string): Promise<SessionGroupDependencyInput> {
  const [, name = text, condition] = /^(.+):(ended|same-index|all-succeeded)$/.exec(text) ?? []
  const { groupId } = await findGroup(client, name)
  const words = condition?.toUpperCase().replace('-', '_')
  return { groupId, condition: words as SessionGroupDependencyInput['condition'] }
}

/** Formats numbers as `1-1000,2000`. */
function ranges(numbers: readonly number[]): string {
  const parts: string[] = []
  for (let at = 0; at < numbers.length; at++) {
    const first = at
    while (numbers[at + 1] === numbers[at]! + 1) at++
    parts.push(at === first ? String(numbers[first]) : `${numbers[first]}-${numbers[at]}`)
  }
  return parts.join(',')
}

/** Waits until the group has ended, and prints its outcome; returns the exit status. */
export async function awaitGroup(
  { client, out, signal }: ClientContext,
  groupId: string,
  { timeout, cut }: { timeout?: number | undefined; cut?: AbortSignal } = {},
): Promise<number> {
  const bar = progressBar('ended')
  const late = timeout === undefined || timeout === 0 ? undefined : AbortSignal.timeout(timeout * 1_000)
  const over = AbortSignal.any([signal, ...(late ? [late] : []), ...(cut ? [cut] : [])])
  let group: SessionGroup | undefined
  try {
    for await (group of client.followGroup(groupId, { signal: over })) {
      const { succeeded, failed, cancelled, total } = group.counts
      bar.update(succeeded + failed + cancelled, total, failed > 0 ? `${failed} failed` : '')
      if (timeout === 0) break
    }
  } catch (error) {
    if (late?.aborted !== true || signal.aborted) throw error
  } finally {
    bar.end()
  }
  if (group === undefined || group.endedAt === null) {
    out.note(`${group?.name ?? groupId}: not ended yet; the work continues`)
    return exitStatus('TIMED_OUT')
  }
  const failures = await firstFailures(client, group, signal)
  out.show({ ...group, failures }, () => endedLine(out, group))
  if (!out.json) for (const each of failures) out.note(`[${each.index}] ${failureWords(each)}`)
  const hidden = group.counts.failed - failures.length
  if (!out.json && hidden > 0) out.note(`and ${hidden} more: reprise chains --state failed`)
  return group.outcome === 'SUCCEEDED' ? 0 : exitStatus('FAILED')
}

/** Formats `sweep ID: FAILED: 50 of 1000 failed, and the limit is 50; 940 succeeded, 10 cancelled`. */
function endedLine({ terminal }: Output, { name, groupId, state, reason, counts }: SessionGroup): string {
  const style = statusStyle(state)
  const word = style ? terminal.style(style, state) : state
  const { succeeded, cancelled } = counts
  const rest = [`${succeeded} succeeded`, ...(cancelled > 0 ? [`${cancelled} cancelled`] : [])]
  return `${name} ${groupId}: ${word}: ${reason}; ${rest.join(', ')}`
}
