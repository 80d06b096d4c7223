import { Command } from 'commander'
import type { WebhookDeliveryStatus } from '../client/node/index.ts'
import { act, actOnOne, collect, describedCommand, take, takeAll } from './client-command.ts'
import { findChain, findDelivery, findWebhook } from './find.ts'
import { choices, pairs, past, seconds, wholeNumber } from './options/values.ts'
import { API_ENUMS } from './options/api-enums.generated.ts'
import { statusStyle } from './output/terminal.ts'
import { relative } from './output/format.ts'
import { UsageError } from './present-error.ts'

export function webhooksCommand(): Command {
  const command = new Command('webhooks').description('manage endpoints to which events are sent')
  command.addCommand(list(), { isDefault: true })
  for (const subcommand of [create(), enable(), disable(), remove(), rotate(), test(), deliveries(), replay()]) {
    command.addCommand(subcommand)
  }
  return command
}

function list(): Command {
  const command = describedCommand('list', 'list webhooks', ['reprise webhooks'])
  command.option('-p, --project <project>', 'in this project')
  return act<{ project?: string }>(command, async ({ client, out, signal }, { project }) => {
    await out.table(
      await takeAll(client.webhooks({ project }, { signal })),
      [
        { title: 'WEBHOOK', value: ({ webhookId }) => webhookId, id: true },
        { title: 'URL', value: ({ url }) => url, flexible: true },
        { title: 'EVENTS', value: ({ eventTypes }) => eventTypes.join(','), flexible: true },
        { title: 'STATE', value: (row) => (row.enabled ? (row.failingSince ? 'failing' : 'on') : 'off') },
        { title: 'PROJECT', value: (row) => row.project?.name ?? 'all', flexible: true },
        { title: 'DELIVERED', value: ({ lastDeliveredAt }) => relative(lastDeliveredAt), align: 'right' },
        { title: 'WHY OFF', value: ({ disabledReason }) => disabledReason, flexible: true },
      ],
      'no webhooks',
    )
  })
}

interface CreateOptions {
  event?: string[]
  project?: string
  chain?: string
  label?: [string, string][]
  description?: string
  groupsOnly?: true
}

function create(): Command {
  const command = describedCommand(
    'create',
    'create a webhook, which sends events to an endpoint; prints the secret, which is shown only once',
    [
      "reprise webhooks create https://ci.example.com/hook --event 'session.retry_*'",
      'reprise webhooks create https://ci.example.com/failed --event chain.failed',
    ],
  )
    .argument('<url>')
    .option('--event <type>', 'event type, which may end in *; may be repeated (default: all)', collect)
    .option('-p, --project <project>', 'project whose events are sent')
    .option('--chain <chain>', 'only events of this chain')
    .option('-l, --label <key=value>', 'only events of sessions with this label; may be repeated', pairs)
    .option('--groups-only', 'of members of groups, only the end of the group')
    .option('--description <text>', 'description')
  return act<CreateOptions>(command, async ({ client, out }, options, [url]) => {
    const { event = ['*'], project, chain, description } = options
    const chainId = chain && (await findChain(client, chain))
    const labels = options.label?.map(([key, value]) => ({ key, value }))
    const input = {
      url: url!,
      eventTypes: event,
      project,
      chainId,
      labels,
      description,
      skipGroupMembers: options.groupsOnly,
    }
    const { secret, webhook } = await client.createWebhook(input)
    out.note(`webhook ${webhook.webhookId}; its secret, shown only once:`)
    out.show({ secret, webhook }, () => secret)
  })
}

const ID = '<webhook>'
const ABOUT_ID = 'id, or its beginning, of a webhook'

function enable(): Command {
  const command = describedCommand('enable', 'resume sending to a webhook', [`reprise webhooks enable ${ID}`])
  return actOnOne(
    command.argument(ID, ABOUT_ID),
    async (client, text) => client.updateWebhook({ webhookId: await findWebhook(client, text), enabled: true }),
    ({ url }) => `${url}: on`,
  )
}

function disable(): Command {
  const command = describedCommand('disable', 'stop sending to a webhook', [`reprise webhooks disable ${ID}`])
  return actOnOne(
    command.argument(ID, ABOUT_ID),
    async (client, text) => client.updateWebhook({ webhookId: await findWebhook(client, text), enabled: false }),
    ({ url }) => `${url}: off`,
  )
}

function remove(): Command {
  const command = describedCommand('delete', 'delete a webhook', [`reprise webhooks delete ${ID}`])
  return actOnOne(
    command.argument(ID, ABOUT_ID),
    async (client, text) => ({ webhookId: await client.deleteWebhook(await findWebhook(client, text)) }),
    ({ webhookId }) => `${webhookId}: deleted`,
  )
}

function rotate(): Command {
  const command = describedCommand('rotate', 'create a new secret; for a while requests have both signatures', [
    `reprise webhooks rotate ${ID} --overlap 2h`,
  ])
    .argument(ID, ABOUT_ID)
    .option('--overlap <duration>', 'how long requests are also signed with the old secret (default: a day)', seconds)
  return act<{ overlap?: number }>(command, async ({ client, out }, { overlap }, [text]) => {
    const webhookId = await findWebhook(client, text!)
    const { secret, webhook } = await client.rotateWebhookSecret({ webhookId, overlapSeconds: overlap })
    out.note('the new secret, shown once:')
    out.show({ secret, webhook }, () => secret)
  })
}

function test(): Command {
  const command = describedCommand('test', 'send a test event', [`reprise webhooks test ${ID}`]).argument(ID, ABOUT_ID)
  return act(command, async ({ client, out }, _options, [text]) => {
    const webhookId = await findWebhook(client, text!)
    const delivery = await client.sendTestEvent(webhookId)
    out.show(delivery, () => `delivery ${delivery.deliveryId}: \`reprise webhooks deliveries ${webhookId}\` shows it`)
  })
}

function deliveries(): Command {
  const command = describedCommand('deliveries', 'list deliveries, newest first', [
    `reprise webhooks deliveries ${ID} --status failed`,
  ])
    .argument(ID, ABOUT_ID)
    .addOption(choices('--status <statuses>', 'with one of these statuses', API_ENUMS.WebhookDeliveryStatus))
    .option('--limit <n>', 'maximum number; 0 means all (default: 50)', wholeNumber)
  return act<{ status?: WebhookDeliveryStatus[]; limit?: number }>(
    command,
    async ({ client, out, signal }, { status, limit = 50 }, [text]) => {
      const webhookId = await findWebhook(client, text!)
      const { items } = await take(client.webhookDeliveries(webhookId, { status }, { signal }), limit)
      await out.table(
        items,
        [
          { title: 'DELIVERY', value: ({ deliveryId }) => deliveryId, id: true },
          { title: 'EVENT', value: ({ eventType }) => eventType, flexible: true },
          { title: 'STATUS', value: (row) => row.status, style: (row) => statusStyle(row.status), kept: true },
          { title: 'ATTEMPTS', value: ({ attempts }) => attempts.length, align: 'right' },
          { title: 'NEXT', value: ({ nextAttemptAt }) => relative(nextAttemptAt), align: 'right' },
          { title: 'LAST ANSWER', value: (row) => answerOf(row.attempts.at(-1)), flexible: true },
        ],
        'no deliveries',
      )
    },
  )
}

function answerOf(attempt: { statusCode: number | null; error: string | null } | undefined): string {
  return attempt ? [attempt.statusCode, attempt.error].filter((part) => part !== null).join(' ') : '–'
}

function replay(): Command {
  const command = describedCommand('replay', 'repeat one delivery, or all that failed since a time', [
    'reprise webhooks replay --delivery <delivery>',
    `reprise webhooks replay ${ID} --since 6h`,
  ])
    .argument('[webhook]', ABOUT_ID)
    .option('--delivery <delivery>', 'only this delivery')
    .option('--since <time>', 'all failed and missed events since this time, or a duration ago like 6h', past)
  return act<{ delivery?: string; since?: string }>(command, async ({ client, out }, options, [text]) => {
    const { delivery, since } = options
    const webhookId = text && (await findWebhook(client, text))
    if (delivery !== undefined) {
      const again = await client.replayDelivery(await findDelivery(client, delivery, webhookId))
      return out.show(again, () => `delivery ${again.deliveryId}: ${again.status}`)
    }
    if (webhookId === undefined || since === undefined) {
      throw new UsageError('Give what to replay: --delivery, or a webhook and --since.')
    }
    let replayed = 0
    for (let more = true; more;) {
      const part = await client.replayWebhook(webhookId, since)
      replayed += part.replayed
      more = part.more && part.replayed > 0
    }
    out.show({ replayed }, () => `${replayed} deliveries are sent again`)
  })
}
