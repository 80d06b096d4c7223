import { Command } from 'commander'
import type {
  BulkActionState,
  ResubmissionOverrides,
  ResubmittedMemberState,
  SessionAction,
} from '../client/node/index.ts'
import { act, actOnOne, type ClientContext, describedCommand, take } from './client-command.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'
import { addPolicyOptions, type PolicyOptions, readPolicy } from './options/policy-options.ts'
import {
  addAgentOptions,
  addSpecOptions,
  addUploadOption,
  agentLists,
  type AgentOptions,
  named,
  gpusOf,
  secretsOf,
  slotsOf,
  type SpecOptions,
} from './options/session-options.ts'
import { choices } from './options/values.ts'
import { withUpload } from './upload.ts'
import { findNamed } from './options/find-in-options.ts'
import { findBulkAction, SESSION_ARGUMENT } from './find.ts'
import { addManyOptions, followMany, type ManyOptions, printDryRun, readSelection } from './many-sessions.ts'
import { statusStyle } from './output/terminal.ts'
import { relative } from './output/format.ts'

interface ResubmitOptions extends ManyOptions, SpecOptions, AgentOptions, PolicyOptions {
  upload?: string[]
  codeSha256?: string
  freshCheckpoint?: true
  includeSucceeded?: true
  includeDependents?: true
}

export function resubmitCommand(): Command {
  const command = describedCommand(
    'resubmit',
    'resubmit failed sessions with a new retry budget: named ones, or all that match',
    [
      'reprise resubmit nightly --mem 8g --retries 5',
      'reprise resubmit nightly --gpus a100:1 --gpu-memory 80g',
      'reprise resubmit --cause oom-killed --phase exhausted --since 1d --mem 16g',
      'reprise resubmit --with-label study=7 --result failure --client-key study-7-again',
      'reprise resubmit nightly --upload .    # with the files as they are now',
      'reprise resubmit nightly --fresh-checkpoint',
      'reprise resubmit nightly --include-succeeded',
      'reprise resubmit nightly --include-dependents',
      'reprise resubmit sweep --failed --mem 16g    # members of a group',
    ],
  ).argument('[sessions...]', SESSION_ARGUMENT)
  addManyOptions(command)
    .option('--failed', 'of a group, only members that have failed, and none that were cancelled')
    .option('--include-succeeded', 'also run sessions again that succeeded')
    .option('--include-dependents', 'also resubmit sessions that were cancelled because these failed')
  command
    .optionsGroup('Overrides:')
    .option('--fresh-checkpoint', 'begin with an empty directory, without the checkpoint of earlier attempts')
  addPolicyOptions(addUploadOption(addAgentOptions(addSpecOptions(command))))
  return act<ResubmitOptions>(command, resubmit, { endsItself: true })
}

const WORDS = { action: 'RESUBMIT', doing: 'resubmitting', done: 'resubmitted' } as const

async function resubmit(context: ClientContext, given: ResubmitOptions, names: string[]): Promise<number> {
  const selection = await readSelection(context, given, names)
  const options = given.upload === undefined ? given : await uploaded(context, given, selection.select)
  const { clientKey, includeSucceeded, includeDependents } = options
  const overrides = overridesOf(await findNamed(context.client, options))
  const input = { ...selection, clientKey, overrides, includeSucceeded, includeDependents }
  if (options.dryRun) return printDryRun(context, WORDS, input)
  const made = await begin(context, input)
  const status = await followMany(context, WORDS, made, options)
  if (!includeDependents) offerDependents(context, made.cancelledDependents)
  return status
}

type Input = Parameters<ClientContext['client']['resubmitSessions']>[0]

/** Begins a resubmission; that of a group also takes members that succeeded, if they are wanted. */
function begin({ client }: ClientContext, input: Input) {
  const { select, clientKey, overrides, includeSucceeded, includeDependents } = input
  const { group: groupId, state } = select?.chainFilter ?? {}
  if (groupId == null || includeDependents) return client.resubmitSessions(input)
  const states = [...(state as ResubmittedMemberState[]), ...(includeSucceeded ? (['SUCCEEDED'] as const) : [])]
  return client.resubmitGroup({ groupId, states, clientKey, overrides })
}

/** Uploads files to the named project, or to that of the first session. Sessions of other projects are refused. */
async function uploaded(context: ClientContext, options: ResubmitOptions, select: object): Promise<ResubmitOptions> {
  const first = 'sessionIds' in select ? (select.sessionIds as string[])[0] : undefined
  const project = options.inProject ?? (first && (await context.client.session(first)).project.name)
  const { codeSha256 } = await withUpload(context, { upload: options.upload, project })
  return { ...options, codeSha256 }
}

function offerDependents({ out }: ClientContext, count: number): void {
  if (count === 0) return
  const cancelled = count === 1 ? '1 session was cancelled' : `${count} sessions were cancelled`
  out.note(`${cancelled} because these failed: --include-dependents resubmits ${count === 1 ? 'it' : 'them'}, too`)
}

function overridesOf(options: ResubmitOptions): ResubmissionOverrides | undefined {
  const overrides: ResubmissionOverrides = {
    resourceSlots: slotsOf(options),
    gpus: gpusOf(options),
    environ: named(options.env),
    secretEnviron: secretsOf(options),
    codeSha256: options.codeSha256,
    batchTimeout: options.timeout,
    priority: options.priority,
    resourceGroup: options.resourceGroup,
    ...agentLists(options),
    retryPolicy: readPolicy(options),
    freshCheckpoint: options.freshCheckpoint,
  }
  return Object.values(overrides).some((value) => value !== undefined) ? overrides : undefined
}

const SHOWN = 50

export function bulkActionsCommand(name = 'bulk-actions'): Command {
  return new Command(name)
    .description('actions on many sessions, such as resubmissions, and their progress')
    .addCommand(list(), { isDefault: true })
    .addCommand(abort())
}

interface ListOptions {
  action?: SessionAction[]
  state?: BulkActionState[]
}

function list(): Command {
  const command = describedCommand('list', 'list actions on many sessions, newest first', [
    'reprise bulk-actions',
    'reprise bulk-actions --action resubmit --state running',
  ])
    .addOption(choices('--action <actions>', 'only these actions', API_ENUMS.SessionAction))
    .addOption(choices('--state <states>', 'only in these states', API_ENUMS.BulkActionState))
  return act<ListOptions>(command, async ({ client, out, signal }, { action, state }) => {
    const { items } = await take(client.bulkActions({ filter: { action, state }, signal }), SHOWN)
    await out.table(
      items,
      [
        { title: 'ID', value: ({ bulkActionId }) => bulkActionId, id: true },
        { title: 'ACTION', value: ({ action: what }) => what, kept: true },
        { title: 'STATE', value: ({ state: now }) => now, style: ({ state: now }) => statusStyle(now), kept: true },
        { title: 'DONE', value: ({ done }) => done, align: 'right' },
        { title: 'REFUSED', value: ({ refusedCount }) => refusedCount, align: 'right' },
        { title: 'TOTAL', value: ({ total }) => total, align: 'right' },
        { title: 'BY', value: ({ actor }) => actor, flexible: true },
        { title: 'MADE', value: ({ createdAt }) => relative(createdAt), align: 'right' },
        { title: 'KEY', value: ({ clientKey }) => clientKey, flexible: true },
      ],
      'no actions on many sessions',
    )
  })
}

function abort(): Command {
  const command = describedCommand('abort', 'abort an action; sessions that are not done yet are left out', [
    'reprise bulk-actions abort 01990000-0000-7000-8000-000000000000',
  ]).argument('<action>', 'id, or its beginning, of an action on many sessions')
  return actOnOne(
    command,
    async (client, text) => client.abortBulkAction(await findBulkAction(client, text)),
    (made) => `${made.bulkActionId}: ${made.state}, ${made.done} of ${made.total} done`,
  )
}
