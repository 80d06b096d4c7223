import type { Command } from 'commander'
import { act, describedCommand } from '../client-command.ts'
import { findGroup, type Group } from '../find/find-group.ts'
import { nullForNone, orNone, seconds, type None } from '../options/values.ts'
import { formatFields } from '../output/fields.ts'
import type { Terminal } from '../output/terminal.ts'
import { duration } from '../output/time.ts'

interface TimeoutOptions {
  pending?: number | None
  prepare?: number | None
  create?: number | None
  queue?: number | None
  terminate?: number
  stopGrace?: number
  fenceAfter?: number
}

export function groupTimeouts(): Command {
  const command = describedCommand('timeouts', 'show how long a group lets things take, or change it', [
    'reprise groups timeouts default',
    'reprise groups timeouts default --pending 2h --stop-grace 30s --terminate 2m',
  ])
    .argument('<group>')
    .option('--pending <duration>', 'waiting for a place, then it fails; `none`: no limit', orNone(seconds))
    .option('--prepare <duration>', 'being scheduled and prepared; `none`: no limit', orNone(seconds))
    .option('--create <duration>', 'its kernels being created; `none`: no limit', orNone(seconds))
    .option('--queue <duration>', 'waiting in the queue of Slurm, then it fails; `none`: no limit', orNone(seconds))
    .option('--terminate <duration>', 'ending; more than --stop-grace', seconds)
    .option('--stop-grace <duration>', 'from asking a kernel to stop to killing it', seconds)
    .option('--fence-after <duration>', 'an agent without an answer stops its kernels; at least 10s', seconds)
  return act<TimeoutOptions>(command, async ({ client, out, signal }, options, [name]) => {
    const { terminate: terminateTimeout, stopGrace, fenceAfter } = options
    const change = {
      pendingTimeout: nullForNone(options.pending),
      prepareTimeout: nullForNone(options.prepare),
      createTimeout: nullForNone(options.create),
      queueTimeout: nullForNone(options.queue),
      terminateTimeout,
      stopGrace,
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
  ['fence after', 'fenceAfter'],
] as const

function timeoutsOf(group: Timeouts, terminal: Terminal): string {
  const written = (value: number | null) => (value === null ? 'no limit' : duration(value))
  return formatFields(
    FIELDS.map(([title, field]) => [title, written(group[field])]),
    terminal,
  )
}
