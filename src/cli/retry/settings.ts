import { Argument, Command, InvalidArgumentError } from 'commander'
import type { Client, RetryScope } from '../../client/node/index.ts'
import { act, actAsList, describedCommand } from '../client-command.ts'
import { addPolicyOptions, type PolicyOptions, readPolicy } from '../options/policy-options.ts'
import { decimal, future, type None, nullForNone, oneOf, orNone, seconds, wholeNumber } from '../options/values.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { UsageError } from '../present-error.ts'
import { duration, instant, relative } from '../output/format.ts'

export function defaultsCommand(): Command {
  return new Command('defaults')
    .description('retry policy defaults for new sessions')
    .addCommand(showDefaults(), { isDefault: true })
    .addCommand(setDefaults())
    .addCommand(clearDefaults())
}

/** Adds the argument for a scope: `cluster`, `domain NAME` or `project NAME`, as `scopeOf` reads it. */
export function addScope(command: Command): Command {
  const scopes = API_ENUMS.RetryScope.map((scope) => scope.toLowerCase())
  return command
    .addArgument(new Argument('<scope>').choices(scopes))
    .argument('[name]', 'name of the domain or project')
}

/** Parses a scope. @throws UsageError */
export function scopeOf([scope, name]: string[]): { scope: RetryScope; name?: string } {
  const known = oneOf(scope!, API_ENUMS.RetryScope)
  if ((known === 'CLUSTER') !== (name === undefined)) {
    throw new UsageError(
      known === 'CLUSTER' ? 'The scope `cluster` takes no name.' : `Give the name of the ${scope} after \`${scope}\`.`,
    )
  }
  return { scope: known, name }
}

function showDefaults(): Command {
  const command = describedCommand('show', 'show the defaults that are set, widest scope first', ['reprise defaults'])
  return act(command, async ({ client, out, signal }) => {
    const all = await client.retryDefaults({ signal })
    const rows = all.flatMap(({ scope, name, policy }) =>
      (policy?.given ?? []).map((field) => ({
        scope,
        name,
        field,
        value: JSON.stringify(policy![field as keyof NonNullable<typeof policy>]),
      })),
    )
    if (out.json) return out.show(all, () => '')
    await out.table(
      rows,
      [
        { title: 'SCOPE', value: ({ scope }) => scope },
        { title: 'NAME', value: ({ name }) => name },
        { title: 'FIELD', value: ({ field }) => field },
        { title: 'VALUE', value: ({ value }) => value, flexible: true },
      ],
      'no defaults are set: the built-in ones apply',
    )
  })
}

function setDefaults(): Command {
  const command = describedCommand('set', 'replace the defaults of the cluster, a domain or a project', [
    'reprise defaults set cluster --retries 2',
    'reprise defaults set project research --retries 5 --backoff exponential --max-elapsed 12h',
  ])
  addScope(command)
  return act<PolicyOptions>(addPolicyOptions(command), async ({ client, out }, options, args) => {
    const policy = readPolicy(options)
    if (!policy)
      throw new UsageError('Give something to set, like --retries 3; `defaults clear` removes all defaults of a scope.')
    const made = await client.setRetryDefaults({ ...scopeOf(args), policy })
    out.show(made, () => `set for ${args.join(' ')}: ${(made.policy?.given ?? []).join(', ')}`)
  })
}

function clearDefaults(): Command {
  const command = describedCommand('clear', 'remove the defaults of a scope', [
    'reprise defaults clear project research',
  ])
  addScope(command)
  return act(command, async ({ client, out }, _options, args) => {
    const made = await client.setRetryDefaults({ ...scopeOf(args), policy: null })
    out.show(made, () => `the defaults of ${args.join(' ')} are removed`)
  })
}

interface SwitchOptions {
  off?: boolean
  on?: boolean
  rate?: { perSecond: number; burst: number } | None
  breaker?: { failures: number; chains: number; window: number } | None
  until?: string
  reason?: string
}

export function switchCommand(): Command {
  return new Command('switch')
    .description('hold due retries, or limit their rate')
    .addCommand(showSwitches(), { isDefault: true })
    .addCommand(setSwitch())
    .addCommand(breakerOf('hold', true))
    .addCommand(breakerOf('release', false))
}

/** Opens or closes the breaker of a group of failures. */
function breakerOf(name: string, open: boolean): Command {
  const what = open ? 'hold the retries of a group of failures, but for probes' : 'release the retries of a group'
  const command = describedCommand(name, what, [
    `reprise switch ${name} "$(reprise failures --messages --json | jq -r '.[0].failureGroupId')"`,
  ]).argument('<failure-group>', 'id of the group: see `reprise failures --messages --json`')
  return act(command, async ({ client, out }, _options, [failureGroupId]) => {
    const group = await client.setRetryBreaker({ failureGroupId: failureGroupId!, open })
    const next = group.breaker && `, but for a probe ${relative(group.breaker.nextProbeAt)}`
    out.show(group, () =>
      open ? `retries after “${group.title}” are held${next ?? ''}` : `released: “${group.title}”`,
    )
  })
}

function showSwitches(): Command {
  return actAsList(
    describedCommand('show', 'show the switches and limits in effect, widest scope first', ['reprise switch']),
    (client, options) => client.retrySwitches(options),
    [
      { title: 'SCOPE', value: ({ scope }) => scope },
      { title: 'NAME', value: ({ name }) => name },
      { title: 'RETRIES', value: ({ disabled }) => (disabled ? 'held' : 'on') },
      { title: 'UNTIL', value: ({ disabledUntil }) => instant(disabledUntil) },
      { title: 'RATE', value: ({ rateLimit }) => rateLimit && `${rateLimit.perSecond}/s, burst ${rateLimit.burst}` },
      { title: 'UNTIL', value: ({ rateLimitUntil }) => instant(rateLimitUntil) },
      {
        title: 'BREAKER',
        value: ({ breaker: b }) => b && `${b.failures} in ${b.chains} chains, ${duration(b.window)}`,
        optional: true,
      },
      { title: 'CHANGED', value: (made) => instant(lastChange(made)?.at ?? null) },
      { title: 'BY', value: (made) => lastChange(made)?.by },
      { title: 'REASON', value: (made) => lastChange(made)?.reason, flexible: true },
    ],
    'no switches are set: retries are dispatched when they are due',
  )
}

type Switch = Awaited<ReturnType<Client['retrySwitches']>>[number]

/** Returns the newer change of the two. */
function lastChange({ disabledChange, rateLimitChange }: Switch) {
  if (disabledChange === null || rateLimitChange === null) return disabledChange ?? rateLimitChange
  return disabledChange.at > rateLimitChange.at ? disabledChange : rateLimitChange
}

function setSwitch(): Command {
  const command = describedCommand('set', 'hold or release retries of the cluster, a domain or a project', [
    'reprise switch set cluster --off --until 2h --reason "the file server is down"',
    'reprise switch set project research --rate 5/10',
    'reprise switch set project research --on --rate none',
    'reprise switch set project research --breaker 20/5/10m',
  ])
  addScope(command)
    .option('--off', 'hold retries')
    .option('--on', 'release held retries, gradually')
    .option('--rate <per-second/burst>', 'rate limit, like 5/10 (per second/burst); `none` removes it', orNone(rate))
    .option(
      '--breaker <failures/chains/time>',
      'hold retries after that many failures alike in that many chains within a time, like 20/5/10m; `none` removes it',
      orNone(breaker),
    )
    .option('--until <time>', 'undo this change at this time, or after this duration', future)
    .option('--reason <text>', 'reason, for people')
  return act<SwitchOptions>(command, async ({ client, out }, options, args) => {
    const { on, off, until, reason, rate: rateLimit, breaker: setting } = options
    if (on && off) throw new UsageError('Give only one of --on and --off.')
    if (!on && !off && rateLimit === undefined && setting === undefined)
      throw new UsageError('Give something to set: --off, --on, --rate or --breaker.')
    const disabled = off ? true : on ? false : undefined
    const input = {
      ...scopeOf(args),
      disabled,
      rateLimit: nullForNone(rateLimit),
      breaker: nullForNone(setting),
      until,
      reason,
    }
    const made = await client.setRetrySwitch(input)
    const limit = made.rateLimit ? `, at most ${made.rateLimit.perSecond}/s` : ''
    out.show(made, () => `retries of ${args.join(' ')} are ${made.disabled ? 'held' : 'on'}${limit}`)
  })
}

function breaker(text: string) {
  const [failures, chains, window, ...rest] = text.split('/')
  if (window === undefined || rest.length > 0)
    throw new InvalidArgumentError('It is not a breaker like 20/5/10m: failures, chains, and a time.')
  return { failures: wholeNumber(failures!), chains: wholeNumber(chains!), window: seconds(window) }
}

function rate(text: string) {
  const [perSecond, burst] = text.split('/')
  if (burst === undefined) throw new InvalidArgumentError('It is not a rate like 5/10: retries per second, and burst.')
  return { perSecond: decimal(perSecond!), burst: wholeNumber(burst) }
}

export function failureRulesCommand(): Command {
  return new Command('rules')
    .description('the rules by which failures of a project are grouped')
    .addCommand(showFailureRules())
    .addCommand(setFailureRules())
    .addCommand(clearFailureRules())
}

function showFailureRules(): Command {
  const command = describedCommand('show', 'show the rules of a project: the first one that matches counts', [
    'reprise failures rules show research',
  ])
  return act(command.argument('<project>'), async ({ client, out, signal }, _options, [project]) => {
    const rules = await client.failureRules(project!, { signal })
    if (out.json) return out.show(rules, () => '')
    await out.table(
      rules,
      [
        { title: 'GROUP', value: ({ name }) => name, kept: true },
        { title: 'PATTERN', value: ({ pattern }) => pattern, flexible: true, kept: true },
      ],
      'no rules: failures are grouped by what they say',
    )
  })
}

function setFailureRules(): Command {
  const command = describedCommand('set', 'replace the rules of a project, for its administrators', [
    `reprise failures rules set research 'GPU memory=*CUDA out of memory*' 'disks=*No space left on device*'`,
  ])
    .argument('<project>')
    .argument('<group=pattern...>', 'a group, and a pattern with * and ? for a whole line of its failures')
  return act(command, async ({ client, out }, _options, [project, ...rules]) => {
    const made = await client.setFailureRules({ project: project!, rules: rules.map(failureRule) })
    out.show(made, () => `${project}: ${made.length} ${made.length === 1 ? 'rule' : 'rules'}, for failures from now on`)
  })
}

function failureRule(text: string) {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`\`${text}\` is no rule like 'GPU memory=*out of memory*': a group, and a pattern.`)
  return { name: text.slice(0, at), pattern: text.slice(at + 1) }
}

function clearFailureRules(): Command {
  const command = describedCommand('clear', 'remove the rules of a project', ['reprise failures rules clear research'])
  return act(command.argument('<project>'), async ({ client, out }, _options, [project]) => {
    const made = await client.setFailureRules({ project: project!, rules: [] })
    out.show(made, () => `${project}: failures are grouped by what they say`)
  })
}
