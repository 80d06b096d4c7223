import { Command, InvalidArgumentError } from 'commander'
import type { Client } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { decimal, future, nullForNone, orNone, wholeNumber, type None } from '../options/values.ts'
import { instant } from '../output/time.ts'
import { UsageError } from '../present-error.ts'
import { addScope, scopeOf } from './defaults.ts'

interface SwitchOptions {
  off?: boolean
  on?: boolean
  rate?: { perSecond: number; burst: number } | None
  until?: string
  reason?: string
}

export function switchCommand(): Command {
  return new Command('switch')
    .description('hold due retries, or limit their rate')
    .addCommand(show(), { isDefault: true })
    .addCommand(set())
}

function show(): Command {
  const command = describedCommand('show', 'show the switches and limits in effect, widest scope first', [
    'reprise switch',
  ])
  return act(command, async ({ client, out, signal }) => {
    await out.table(
      await client.retrySwitches({ signal }),
      [
        { title: 'SCOPE', value: ({ scope }) => scope },
        { title: 'NAME', value: ({ name }) => name },
        { title: 'RETRIES', value: ({ disabled }) => (disabled ? 'held' : 'on') },
        { title: 'UNTIL', value: ({ disabledUntil }) => instant(disabledUntil) },
        { title: 'RATE', value: ({ rateLimit }) => rateLimit && `${rateLimit.perSecond}/s, burst ${rateLimit.burst}` },
        { title: 'UNTIL', value: ({ rateLimitUntil }) => instant(rateLimitUntil) },
        { title: 'CHANGED', value: (made) => instant(lastChange(made)?.at ?? null) },
        { title: 'BY', value: (made) => lastChange(made)?.by },
        { title: 'REASON', value: (made) => lastChange(made)?.reason, flexible: true },
      ],
      'nothing is set: retries go as they become due',
    )
  })
}

type Switch = Awaited<ReturnType<Client['retrySwitches']>>[number]

/** Of both, the newer. */
function lastChange({ disabledChange, rateLimitChange }: Switch) {
  if (disabledChange === null || rateLimitChange === null) return disabledChange ?? rateLimitChange
  return disabledChange.at > rateLimitChange.at ? disabledChange : rateLimitChange
}

function set(): Command {
  const command = describedCommand('set', 'hold or release retries of the cluster, a domain or a project', [
    'reprise switch set cluster --off --until 2h --reason "the file server is down"',
    'reprise switch set project research --rate 5/10',
    'reprise switch set project research --on --rate none',
  ])
  addScope(command)
    .option('--off', 'hold them')
    .option('--on', 'release held retries, gradually')
    .option('--rate <per-second/burst>', 'rate limit, like 5/10 (per second/burst); `none` removes it', orNone(rate))
    .option('--until <time>', 'revert at this time, or after this duration', future)
    .option('--reason <text>', 'why, for people')
  return act<SwitchOptions>(command, async ({ client, out }, options, args) => {
    const { on, off, until, reason, rate: rateLimit } = options
    if (on && off) throw new UsageError('--on and --off exclude each other.')
    if (!on && !off && rateLimit === undefined) throw new UsageError('Say what to set: --off, --on or --rate.')
    const disabled = off ? true : on ? false : undefined
    const input = { ...scopeOf(args), disabled, rateLimit: nullForNone(rateLimit), until, reason }
    const made = await client.setRetrySwitch(input)
    const limit = made.rateLimit ? `, at most ${made.rateLimit.perSecond}/s` : ''
    out.show(made, () => `retries of ${args.join(' ')} are ${made.disabled ? 'held' : 'on'}${limit}`)
  })
}

function rate(text: string) {
  const [perSecond, burst] = text.split('/')
  if (burst === undefined) throw new InvalidArgumentError('It is not like 5/10: per second, and at once.')
  return { perSecond: decimal(perSecond!), burst: wholeNumber(burst) }
}
