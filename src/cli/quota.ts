import { Command } from 'commander'
import { act, actAsList, describedCommand } from './client-command.ts'
import { nullForNone, oneOf, orNone, pairs, type None, wholeNumber } from './options/values.ts'
import { binaryBytes, slotUse } from './output/format.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'

export function quotasCommand(): Command {
  return new Command('quotas')
    .description('limits of users, projects and domains')
    .addCommand(show(), { isDefault: true })
    .addCommand(set())
}

function show(): Command {
  return actAsList(
    describedCommand('show', 'show limits and their use', ['reprise quotas']),
    (client, options) => client.quotas(options),
    [
      { title: 'SCOPE', value: ({ scope }) => scope },
      { title: 'NAME', value: ({ name }) => name, flexible: true },
      { title: 'PENDING', value: ({ usage, maxPending }) => `${usage.pending}/${maxPending ?? '∞'}`, align: 'right' },
      { title: 'RUNNING', value: ({ usage, maxRunning }) => `${usage.running}/${maxRunning ?? '∞'}`, align: 'right' },
      {
        title: 'CHECKPOINTS',
        value: ({ usage, maxCheckpointBytes }) => bytesOf(usage.checkpointBytes, maxCheckpointBytes),
        align: 'right',
      },
      {
        title: 'OUTPUTS',
        value: ({ usage, maxOutputBytes }) => bytesOf(usage.outputBytes, maxOutputBytes),
        align: 'right',
      },
      { title: 'SLOTS', value: (row) => slotsOf(row), flexible: true },
    ],
    'no quotas: nothing is limited',
  )
}

interface Slots {
  slots: readonly { slot: string; amount: string }[]
}

function slotsOf({ slots, usage }: Slots & { usage: Slots }): string {
  const used = new Map(usage.slots.map(({ slot, amount }) => [slot, amount]))
  return slots.map(({ slot, amount }) => slotUse({ slot, capacity: amount, used: used.get(slot) ?? '0' })).join(' ')
}

function bytesOf(used: number, most: number | null): string {
  return `${binaryBytes(used)}/${most === null ? '∞' : binaryBytes(most)}`
}

interface QuotaOptions {
  slot?: [string, string][]
  maxPending?: number | None
  maxRunning?: number | None
  maxCheckpointBytes?: string
  maxOutputBytes?: string
}

function set(): Command {
  const command = describedCommand('set', 'limit a user, project or domain', [
    'reprise quotas set project research --max-running 20 --slot cpu=64 --slot mem=256g',
    'reprise quotas set project research --max-checkpoint-bytes 500g',
    'reprise quotas set user ada --max-pending none',
  ])
    .argument('<scope>', 'user, project or domain')
    .argument('<name>', 'name of the user, project or domain')
    .option('--max-pending <n>', 'limit on waiting sessions; `none` removes it', orNone(wholeNumber))
    .option('--max-running <n>', 'limit on placed sessions; `none` removes it', orNone(wholeNumber))
    .option('--max-checkpoint-bytes <amount>', 'limit on checkpoints, like 500g; `none` removes it')
    .option('--max-output-bytes <amount>', 'limit on kept outputs, like 500g; `none` removes it')
    .option(
      '--slot <slot=amount>',
      'total of a slot over all kernels; replaces all earlier ones; may be repeated',
      pairs,
    )
  return act<QuotaOptions>(command, async ({ client, out }, options, [scope, name]) => {
    const slots = options.slot?.map(([slotName, amount]) => ({ slot: slotName, amount }))
    const quota = await client.setQuota({
      scope: oneOf(scope!, API_ENUMS.QuotaScope),
      name: name!,
      maxPending: nullForNone(options.maxPending),
      maxRunning: nullForNone(options.maxRunning),
      maxCheckpointBytes: nullForNone(options.maxCheckpointBytes),
      maxOutputBytes: nullForNone(options.maxOutputBytes),
      slots,
    })
    out.show(quota, () => `set for ${scope} ${name}`)
  })
}
