import { Command } from 'commander'
import { act, actAsList, actOnOne, collect, describedCommand } from './client-command.ts'
import { duration, slotUse } from './output/format.ts'
import { formatFields } from './output/table.ts'
import type { Terminal } from './output/terminal.ts'
import { nullForNone, orNone, pairs, seconds, type None } from './options/values.ts'
import { type Client, NotFoundError } from '../client/node/index.ts'

export function resourceGroupsCommand(): Command {
  const command = new Command('resource-groups')
    .description('resource groups: sets of agents with their own queue')
    .addCommand(list(), { isDefault: true })
  for (const each of subcommands('resource-groups')) command.addCommand(each)
  return command
}

/** @param own the name of the command that they are subcommands of */
function subcommands(own: 'resource-groups' | 'groups'): Command[] {
  return [create, drain, resume, groupOptions, groupTimeouts, remove].map((make) => make(own))
}

/** The subcommands of `reprise groups` when it was about resource groups. */
export function formerGroupCommands(): Command[] {
  return subcommands('groups')
}

function list(): Command {
  return actAsList(
    describedCommand('list', 'list resource groups with their use and their waiting sessions', [
      'reprise resource-groups',
    ]),
    (client, options) => client.resourceGroups(options),
    [
      { title: 'GROUP', value: ({ name }) => name },
      { title: 'STATE', value: ({ draining }) => (draining ? 'DRAINING' : 'OPEN') },
      { title: 'WAITING', value: (row) => waiting(row), align: 'right' },
      { title: 'USED', value: ({ slots }) => slots.map(slotUse).join(' '), flexible: true, kept: true },
      { title: 'SELECTOR', value: ({ selector }) => selector, flexible: true },
      { title: 'SEQUENCER', value: ({ sequencer }) => sequencer, flexible: true },
      { title: 'REASON', value: ({ drainReason }) => drainReason ?? '', flexible: true },
    ],
    'no resource groups',
  )
}

function waiting({ pendingSessions }: { pendingSessions: { totalCount: number; totalCountIsExact: boolean } }): string {
  const { totalCount, totalCountIsExact } = pendingSessions
  return totalCountIsExact ? String(totalCount) : `more than ${totalCount}`
}

function create(own: string): Command {
  const command = describedCommand('create', 'create a resource group; agents join it by name', [
    `reprise ${own} create tpu`,
  ])
  return actOnOne(
    command.argument('<name>'),
    (client, name) => client.createResourceGroup({ name }),
    ({ name }) => `${name}: created; \`REPRISE_RESOURCE_GROUP=${name} reprise agent\` joins it`,
  )
}

function drain(own: string): Command {
  const command = describedCommand('drain', 'start nothing new in a group; running kernels finish', [
    `reprise ${own} drain gpu --reason "new driver"`,
  ])
    .argument('<group>')
    .option('--reason <text>', 'reason, stored for later')
  return actOnOne(
    command,
    (client, name, { reason: drainReason }: { reason?: string }) =>
      client.updateResourceGroup({ name, draining: true, drainReason }),
    ({ name }) => `${name}: DRAINING`,
  )
}

function resume(own: string): Command {
  const command = describedCommand('resume', 'resume a drained group', [`reprise ${own} resume gpu`])
  return actOnOne(
    command.argument('<group>'),
    (client, name) => client.updateResourceGroup({ name, draining: false }),
    ({ name }) => `${name}: OPEN`,
  )
}

function remove(own: string): Command {
  const command = describedCommand('delete', 'delete a group that no agent and no unfinished session belongs to', [
    `reprise ${own} delete tpu`,
  ])
  return actOnOne(
    command.argument('<group>'),
    async (client, name) => ({ deleted: await client.deleteResourceGroup(name) }),
    ({ deleted }) => `${deleted}: deleted`,
  )
}

interface ExecutorOptions {
  option?: [string, string][]
  allow?: string[]
}

function groupOptions(own: string): Command {
  const command = describedCommand('options', 'show or change the executor options of a group', [
    `reprise ${own} options default`,
    `reprise ${own} options default --option partition=batch --allow qos --allow constraint`,
  ])
    .argument('<group>')
    .option(
      '--option <key=value>',
      'executor option of all its sessions; may be repeated; replaces all earlier ones; `none` removes all',
      orEmpty(pairs),
    )
    .option(
      '--allow <key>',
      'key that sessions may set themselves; may be repeated; replaces all earlier ones; `none` removes all',
      orEmpty(collect),
    )
  return act<ExecutorOptions>(command, async ({ client, out, signal }, { option, allow }, [name]) => {
    const change = {
      executorOptions: option?.map(([key, value]) => ({ key, value })),
      allowedExecutorOptions: allow,
    }
    const group =
      option || allow
        ? await client.updateResourceGroup({ name: name!, ...change })
        : await findGroup(client, name!, signal)
    out.show(group, () => optionsOf(group, out.terminal))
  })
}

/** Collects values; `none` empties the list. */
function orEmpty<Item>(more: (text: string, earlier?: Item[]) => Item[]): (text: string, earlier?: Item[]) => Item[] {
  return (text, earlier) => (text === 'none' ? [] : more(text, earlier))
}

function optionsOf(
  { executorOptions, allowedExecutorOptions }: Pick<Group, 'executorOptions' | 'allowedExecutorOptions'>,
  terminal: Terminal,
): string {
  const options = executorOptions.map(({ key, value }) => `${key}=${value}`)
  return formatFields(
    [
      ['options', options.join(', ') || 'none'],
      ['sessions may set', allowedExecutorOptions.join(', ') || 'none'],
    ],
    terminal,
  )
}

interface TimeoutOptions {
  pending?: number | None
  prepare?: number | None
  create?: number | None
  queue?: number | None
  terminate?: number
  stopGrace?: number
  stopGraceMax?: number
  fenceAfter?: number
}

function groupTimeouts(own: string): Command {
  const command = describedCommand('timeouts', 'show or change the timeouts of a group', [
    `reprise ${own} timeouts default`,
    `reprise ${own} timeouts default --pending 2h --stop-grace 30s --terminate 2m`,
  ])
    .argument('<group>')
    .option('--pending <duration>', 'time that a session may wait for a place; `none`: no limit', orNone(seconds))
    .option('--prepare <duration>', 'time for scheduling and preparing a session; `none`: no limit', orNone(seconds))
    .option('--create <duration>', 'time for creating its kernels; `none`: no limit', orNone(seconds))
    .option('--queue <duration>', 'time that kernels may wait in the queue of Slurm; `none`: no limit', orNone(seconds))
    .option('--terminate <duration>', 'time for terminating a session; more than --stop-grace', seconds)
    .option('--stop-grace <duration>', 'time between asking a kernel to stop and killing it', seconds)
    .option('--stop-grace-max <duration>', 'longest such time that a session may ask for', seconds)
    .option(
      '--fence-after <duration>',
      'time without a response after which an agent stops its kernels; at least 10s',
      seconds,
    )
  return act<TimeoutOptions>(command, async ({ client, out, signal }, options, [name]) => {
    const { terminate: terminateTimeout, stopGrace, stopGraceMax, fenceAfter } = options
    const change = {
      pendingTimeout: nullForNone(options.pending),
      prepareTimeout: nullForNone(options.prepare),
      createTimeout: nullForNone(options.create),
      queueTimeout: nullForNone(options.queue),
      terminateTimeout,
      stopGrace,
      stopGraceMax,
      fenceAfter,
    }
    const changes = Object.values(change).some((value) => value !== undefined)
    const group = changes
      ? await client.updateResourceGroup({ name: name!, ...change })
      : await findGroup(client, name!, signal)
    out.show(group, () => timeoutsOf(group, out.terminal))
  })
}

type Timeouts = Pick<Group, (typeof FIELDS)[number][1]>

const FIELDS = [
  ['pending', 'pendingTimeout'],
  ['prepare', 'prepareTimeout'],
  ['create', 'createTimeout'],
  ['queue', 'queueTimeout'],
  ['terminate', 'terminateTimeout'],
  ['stop grace', 'stopGrace'],
  ['longest grace', 'stopGraceMax'],
  ['fence after', 'fenceAfter'],
] as const

function timeoutsOf(group: Timeouts, terminal: Terminal): string {
  const written = (value: number | null) => (value === null ? 'no limit' : duration(value))
  return formatFields(
    FIELDS.map(([title, field]) => [title, written(group[field])]),
    terminal,
  )
}

export type Group = Awaited<ReturnType<Client['resourceGroups']>>[number]

/** @throws NotFoundError */
export async function findGroup(client: Client, name: string, signal: AbortSignal): Promise<Group> {
  const found = (await client.resourceGroups({ signal })).find((group) => group.name === name)
  if (found) return found
  throw new NotFoundError('RESOURCE_GROUP_NOT_FOUND', `There is no resource group ${name}.`)
}
