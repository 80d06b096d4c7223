import type { CreateScheduleInput, CreateSessionInput } from '../../../client/schema-types.generated.ts'
import { policyAsJson, policyOptions } from '../../policy/policy-draft.ts'
import type { Draft } from '../../policy/policy-fields.ts'

type Timing = Omit<CreateScheduleInput, 'session'>

/** A command that creates the same session, or schedule. */
export function sessionAsCommand(draft: Draft, input: CreateSessionInput, timing: Timing | null): string {
  const policy = policyOptions(draft)
  const { name, project, image, resourceGroup, priority, environ, labels, resourceSlots, command, retryPolicy } = input
  const { secretEnviron, startsAt, dependsOn, concurrencyKey, concurrencyLimit, mounts, outputs, inputs, gpus } = input
  const duration = (field: string) => draft[field]?.trim().replaceAll(/\s+/g, '') || undefined
  const pairs = (flag: string, list: typeof labels) =>
    (list ?? []).map(({ key, value }) => option(flag, `${key}=${value}`))
  const agents = (flag: string, ids: CreateSessionInput['allowAgents']) => (ids ?? []).map((id) => option(flag, id))
  const modelOf = (slot: string) => (slot === 'cuda.device' && gpus?.model != null ? `${gpus.model}:` : '')
  const create = timing ? `schedules create ${shellQuoted(timing.name)}` : 'create'
  const options = [
    ...(timing ? timingOptions(timing) : []),
    option('--name', name),
    option('--project', project),
    option('--image', image),
    ...(environ ?? []).map((each) => option('--env', `${each.name}=${each.value}`)),
    ...(secretEnviron ?? []).map((each) => option('--secret', each.name)),
    ...(resourceSlots ?? []).map(({ slot, amount }) =>
      SHORT[slot] === undefined
        ? option('--slot', `${slot}=${amount}`)
        : option(SHORT[slot], `${modelOf(slot)}${amount}`),
    ),
    option('--gpu-memory', gpus?.memory),
    ...(mounts ?? []).map(({ volume, path, readOnly }) =>
      option('--mount', `${volume}:${path}${readOnly ? ':ro' : ''}`),
    ),
    ...(outputs?.paths ?? []).map((pattern) => option('--output', pattern)),
    option('--output-when', outputs?.when?.toLowerCase()),
    option('--output-keep-days', outputs?.keepDays),
    outputs?.inPlace === true ? '--output-in-place' : '',
    ...(inputs ?? []).map(({ from, to }) => option('--input', to ? `${from}:${to}` : from)),
    option('--resource-group', resourceGroup),
    option('--priority', priority),
    option('--timeout', duration('timeout')),
    option('--gpu-idle-timeout', duration('gpuIdle')),
    option('--on-hang', input.onHang?.at(-1)),
    input.neverRunTwice === true ? '--never-run-twice' : '',
    option('--stop-grace', duration('stopGrace')),
    option('--max-pending', duration('maxPending')),
    option('--type', inWords(input.sessionType)),
    option('--cluster-size', input.clusterSize),
    option('--cluster-mode', inWords(input.clusterMode)),
    ...agents('--allow-agent', input.allowAgents),
    ...agents('--avoid-agent', input.avoidAgents),
    ...agents('--exclude-agent', input.excludeAgents),
    ...pairs('--agent-label', input.agentLabels),
    ...pairs('--executor-option', input.executorOptions),
    option('--concurrency-key', concurrencyKey),
    option('--concurrency-limit', concurrencyLimit),
    option('--starts-at', startsAt),
    ...(dependsOn ?? []).map((id) => option('--depends-on', id)),
    ...pairs('--label', labels),
    option('--creation-id', input.creationId),
    ...(policy ?? ['--policy -']),
  ].filter((each) => each !== '')
  const text = [`npx reprise ${create}`, ...options, `-- ${command.map(shellQuoted).join(' ')}`].join(' \\\n  ')
  return policy === null ? `${text} <<'JSON'\n${policyAsJson(retryPolicy ?? {})}\nJSON` : text
}

/** The slots that have an option. */
const SHORT: Readonly<Record<string, string>> = { cpu: '--cpu', mem: '--mem', 'cuda.device': '--gpus' }

/** `MULTI_NODE` → `multi-node` */
function inWords(name: string | null | undefined): string | undefined {
  return name?.toLowerCase().replaceAll('_', '-')
}

function timingOptions({ cron, every, timeZone, overlap, catchUp, jitter }: Timing): string[] {
  return [
    option('--cron', cron),
    option('--every', every == null ? null : `${every}s`),
    option('--timezone', timeZone),
    option('--overlap', overlap?.toLowerCase()),
    option('--catch-up', catchUp),
    option('--spread', jitter == null ? null : `${jitter}s`),
  ]
}

function option(name: string, value: string | number | null | undefined): string {
  return value == null ? '' : `${name} ${shellQuoted(String(value))}`
}

const SCHEDULE_DOCUMENT = `mutation ($input: CreateScheduleInput!) {
  createSchedule(input: $input) {
    ... on CreateSchedulePayload { schedule { scheduleId nextRunAt } }
    ... on Error { code message }
  }
}`
const DOCUMENT = `mutation ($input: CreateSessionInput!) {
  createSession(input: $input) {
    ... on CreateSessionPayload { session { sessionId chainId } }
    ... on Error { code message }
  }
}`

/** A mutation that creates the same session or schedule, with its variables, without secrets. */
export function sessionAsGraphQL(input: CreateSessionInput, timing: Timing | null): string {
  const { secretEnviron } = input
  const hidden = secretEnviron && { secretEnviron: secretEnviron.map(({ name }) => ({ name, value: '…' })) }
  const session = { ...input, ...hidden }
  const variables = { input: timing ? { ...timing, session } : session }
  return `${timing ? SCHEDULE_DOCUMENT : DOCUMENT}\n\n${JSON.stringify(variables, null, 2)}`
}

/** Splits a line into words like a shell, without expansions; null if a quote is not closed. */
export function shellWords(line: string): string[] | null {
  const words: string[] = []
  let word: string | null = null
  let quote: string | null = null
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!
    if (quote === "'") {
      if (char === quote) quote = null
      else word += char
    } else if (char === '\\' && at + 1 < line.length && (quote === null || '"\\$`\n'.includes(line[at + 1]!))) {
      at++
      // A backslash before a line break joins the lines.
      if (line[at] !== '\n') word = (word ?? '') + line[at]!
    } else if (quote === '"') {
      if (char === quote) quote = null
      else word += char
    } else if (char === "'" || char === '"') {
      quote = char
      word ??= ''
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word)
      word = null
    } else word = (word ?? '') + char
  }
  if (quote !== null) return null
  return word === null ? words : [...words, word]
}

/** Quotes a text as one word of a shell. */
export function shellQuoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
