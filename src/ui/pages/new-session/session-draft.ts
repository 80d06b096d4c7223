import type {
  ClusterMode,
  CreateSessionInput,
  InputFilesInput,
  MountInput,
  OutputsInput,
  OutputsWhen,
  SessionType,
} from '../../../client/schema-types.generated.ts'
import { draftOfPolicy, readDraft, secondsOf, type SetPolicy } from '../../policy/policy-draft.ts'
import { type Draft, POLICY_FIELDS, type Section } from '../../policy/policy-fields.ts'
import type { UiNewSessionQuery } from './new-session.generated.ts'
import { shellWords } from './session-text.ts'

export interface SessionGiven {
  input: CreateSessionInput
  /** Faults because of which the input cannot be sent, by field. */
  faults: Record<string, string>
  /** The form's field for each place of the input, for the server's faults. */
  places: Record<string, string>
}

interface KnownAgent {
  agentId: string
  name: string
}

/**
 * Converts the typed texts to the API's input. Empty fields are left out, so that the server's defaults apply. `agents`:
 * those that can be typed by their names.
 */
export function readSession(draft: Draft, agents: readonly KnownAgent[] = []): SessionGiven {
  const faults: Record<string, string> = {}
  const places: Record<string, string> = { ...PLACES }
  const of = (name: string) => draft[name]?.trim() || undefined
  const pairs = (name: string) => {
    const lines = (draft[name] ?? '').split('\n').filter((line) => line.trim() !== '')
    return lines.map((line, index): [string, string] => {
      const at = line.indexOf('=')
      if (at <= 0) faults[name] ??= `Line ${index + 1} is not name=value.`
      return [line.slice(0, at).trim(), line.slice(at + 1)]
    })
  }
  const number = (name: string) => {
    const text = of(name)
    if (text === undefined) return undefined
    if (!/^-?\d+$/.test(text)) faults[name] = 'It is not a whole number.'
    return Number(text)
  }
  const command = commandOf(draft, faults)
  const slots = [
    ...SLOTS.flatMap((slot) => slotOf(slot, of(slot))),
    ...gpuSlot(of('gpus')),
    ...pairs('slots').map((pair) => ['slots', ...pair] as const),
  ]
  for (const [index, [field]] of slots.entries()) places[`resourceSlots.${index}`] = field
  const duration = (name: string) => {
    const text = of(name)
    const seconds = text === undefined ? undefined : secondsOf(text)
    if (text !== undefined && seconds === undefined) faults[name] = 'It is not a duration, like 90s, 5m or 2h.'
    return seconds
  }
  const gpus = { ...given('model', of('gpuModel')), ...given('memory', of('gpuMemory')) }
  const policy = readDraft(draft, POLICY_FIELDS)
  const environ = pairs('env').map(([name, value]) => ({ name, value }))
  const secrets = secretsOf(draft, faults)
  for (const [index, { field }] of secrets.entries()) places[`secretEnviron.${index}`] = field
  const mounts = mountsOf(draft)
  for (const [place, { index }] of mounts.entries()) {
    places[`mounts.${place}`] = mountField(index, 'volume')
    places[`mounts.${place}.path`] = mountField(index, 'path')
  }
  const dependsOn = idsOf('dependsOn', draft, faults)
  const outputs = outputsOf(draft, faults)
  const inputs = inputsOf(draft, faults)
  const keyed = (name: string) => pairs(name).map(([key, value]) => ({ key, value: value.trim() }))
  const lists = {
    labels: keyed('labels'),
    agentLabels: keyed('agentLabels'),
    executorOptions: keyed('executorOptions'),
    ...Object.fromEntries(AGENT_FIELDS.map((name) => [name, agentsOf(name, draft, agents, faults)])),
  }
  const input: CreateSessionInput = {
    name: of('name') ?? nameOf(command),
    command,
    ...given('project', of('project')),
    ...given('image', of('image')),
    ...given('resourceGroup', of('group')),
    ...given('priority', number('priority')),
    ...given('batchTimeout', duration('timeout')),
    ...given('gpuIdleTimeout', duration('gpuIdle')),
    ...(of('onHang') !== undefined && { onHang: ['sh', '-c', of('onHang')!] }),
    ...(of('neverRunTwice') === 'yes' && { neverRunTwice: true }),
    ...given('stopGrace', duration('stopGrace')),
    ...given('maxPending', duration('maxPending')),
    ...given('sessionType', of('type') as SessionType | undefined),
    ...given('clusterSize', number('clusterSize')),
    ...given('clusterMode', of('clusterMode') as ClusterMode | undefined),
    ...given('creationId', of('creationId')),
    ...given('concurrencyKey', of('concurrencyKey')),
    ...given('concurrencyLimit', number('concurrencyLimit')),
    ...(environ.length > 0 && { environ }),
    ...(secrets.length > 0 && { secretEnviron: secrets.map(({ name, value }) => ({ name, value })) }),
    ...(mounts.length > 0 && { mounts: mounts.map(({ mount }) => mount) }),
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
    ...given('outputs', outputs),
    ...(inputs.length > 0 && { inputs }),
    ...given('startsAt', momentOf('startsAt', draft, faults)),
    ...(dependsOn.length > 0 && { dependsOn }),
    ...(slots.length > 0 && { resourceSlots: slots.map(([, slot, amount]) => ({ slot, amount: amount.trim() })) }),
    ...(Object.keys(gpus).length > 0 && { gpus }),
    ...(Object.keys(policy.input).length > 0 && { retryPolicy: policy.input }),
  }
  return { input, faults: { ...faults, ...policy.faults }, places }
}

const SLOTS = ['cpu', 'mem']

/** The fields for agents. */
export const AGENT_FIELDS = ['allowAgents', 'avoidAgents', 'excludeAgents'] as const

/** The ids of the typed agents: names or ids, one a line. */
function agentsOf(
  field: string,
  draft: Draft,
  agents: readonly KnownAgent[],
  faults: Record<string, string>,
): string[] {
  const lines = (draft[field] ?? '').split(/[\n,]/).map((line) => line.trim())
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const id = agents.find(({ name }) => name === line)?.agentId ?? ID.exec(line)?.[0]
      if (id === undefined) faults[field] ??= `There is no agent ${line}.`
      return id ?? line
    })
}

const PLACES: Readonly<Record<string, string>> = {
  name: 'name',
  command: 'command',
  project: 'project',
  image: 'image',
  resourceGroup: 'group',
  priority: 'priority',
  batchTimeout: 'timeout',
  gpuIdleTimeout: 'gpuIdle',
  onHang: 'onHang',
  stopGrace: 'stopGrace',
  maxPending: 'maxPending',
  sessionType: 'type',
  clusterSize: 'clusterSize',
  clusterMode: 'clusterMode',
  creationId: 'creationId',
  agentLabels: 'agentLabels',
  executorOptions: 'executorOptions',
  ...Object.fromEntries(AGENT_FIELDS.map((name) => [name, name])),
  concurrencyKey: 'concurrencyKey',
  concurrencyLimit: 'concurrencyLimit',
  environ: 'env',
  secretEnviron: secretField(0, 'name'),
  mounts: mountField(0, 'volume'),
  outputs: 'outputs',
  'outputs.keepDays': 'outputsKeepDays',
  inputs: 'inputs',
  startsAt: 'startsAt',
  dependsOn: 'dependsOn',
  labels: 'labels',
  resourceSlots: 'slots',
  gpus: 'gpus',
  'gpus.model': 'gpuModel',
  'gpus.memory': 'gpuMemory',
  ...Object.fromEntries(POLICY_FIELDS.map(({ name, path }) => [`retryPolicy.${path}`, name])),
}

function slotOf(slot: string, amount: string | undefined): (readonly [field: string, slot: string, amount: string])[] {
  return amount === undefined ? [] : [[slot, slot, amount]]
}

function gpuSlot(amount: string | undefined): (readonly [field: string, slot: string, amount: string])[] {
  return amount === undefined ? [] : [['gpus', 'cuda.device', amount]]
}

/** The name of the field for a part of a secret variable. */
export function secretField(index: number, part: 'name' | 'value'): string {
  return `secret.${index}.${part}`
}

/** Whether a field is secret, so that it must not be stored in the browser. */
export function isSecret(field: string): boolean {
  return field.startsWith('secret.')
}

/** The number of rows for secret variables: one more than are filled. */
export function secretRows(draft: Draft): number {
  const begun = Object.keys(draft).filter(isSecret)
  return Math.max(0, ...begun.map((field) => Number(field.split('.')[1]) + 1)) + 1
}

function secretsOf(draft: Draft, faults: Record<string, string>): { field: string; name: string; value: string }[] {
  return Array.from({ length: secretRows(draft) }, (_, index) => {
    const field = secretField(index, 'name')
    return { field, name: draft[field]?.trim() ?? '', value: draft[secretField(index, 'value')] ?? '' }
  }).filter(({ field, name, value }) => {
    if (name === '' && value !== '') faults[field] = 'What is it called?'
    return name !== ''
  })
}

const ID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i

/** The ids in the text, one a line; an address that contains an id counts too. */
function idsOf(field: string, draft: Draft, faults: Record<string, string>): string[] {
  const lines = (draft[field] ?? '').split(/[\s,]+/).filter((line) => line !== '')
  return lines.map((line) => {
    const [id] = ID.exec(line) ?? []
    if (id === undefined) faults[field] ??= `${line} is no id.`
    return id ?? line
  })
}

const linesOf = (text: string | undefined) => (text ?? '').split('\n').flatMap((line) => line.trim() || [])

/** The patterns of files to collect, one a line; undefined if there are none. */
function outputsOf(draft: Draft, faults: Record<string, string>): OutputsInput | undefined {
  const { outputsWhen: when, outputsKeepDays: days, outputsInPlace: place } = draft
  const paths = linesOf(draft['outputs'])
  if (days !== undefined && !(Number(days) > 0)) faults['outputsKeepDays'] = 'It is not a number of days.'
  if (paths.length > 0)
    return {
      paths,
      ...given('when', when as OutputsWhen | undefined),
      ...given('keepDays', days === undefined ? days : Number(days)),
      ...given('inPlace', place === undefined ? place : true),
    }
  if (when !== undefined || days !== undefined || place !== undefined) faults['outputs'] = 'Which files are they?'
  return undefined
}

/** The sessions whose outputs it gets, one a line: an id or an address, and a directory after a space. */
function inputsOf(draft: Draft, faults: Record<string, string>): InputFilesInput[] {
  return linesOf(draft['inputs']).map((line) => {
    const [source = '', ...rest] = line.split(/\s+/)
    const [from] = ID.exec(source) ?? []
    if (from === undefined) faults['inputs'] ??= `${source} is no id.`
    return { from: from ?? source, ...given('to', rest.join(' ') || undefined) }
  })
}

/** The typed time, read in the browser's zone. */
function momentOf(field: string, draft: Draft, faults: Record<string, string>): string | undefined {
  const text = draft[field]
  if (!text) return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) faults[field] = 'It is not a day and a time.'
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

function commandOf(draft: Draft, faults: Record<string, string>): string[] {
  const line = draft['command']?.trim() ?? ''
  if (line === '') {
    faults['command'] = 'Say what is to run.'
    return []
  }
  if (draft['shell']) return ['sh', '-c', line]
  const words = shellWords(line)
  if (words === null) faults['command'] = 'A quote is not closed.'
  return words ?? []
}

/** The default name of a session, as on the command line: that of the program. */
export function nameOf([program = '']: readonly string[]): string {
  return program.slice(program.lastIndexOf('/') + 1)
}

function given<Name extends string, Value>(name: Name, value: Value | undefined): { [N in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [N in Name]?: Value })
}

/** The name of the field for a part of a mount. */
export function mountField(index: number, part: 'volume' | 'path' | 'readOnly'): string {
  return `mount.${index}.${part}`
}

/** The number of rows for volumes: one more than are filled. */
export function mountRows(draft: Draft): number {
  const begun = Object.keys(draft).filter((field) => field.startsWith('mount.'))
  return Math.max(0, ...begun.map((field) => Number(field.split('.')[1]) + 1)) + 1
}

/** The path of a volume if none is typed. */
export function usualPath(volume: string): string {
  return `/mnt/${volume}`
}

/** The volumes that are chosen, each with the index of its row. */
function mountsOf(draft: Draft): { index: number; mount: MountInput }[] {
  return Array.from({ length: mountRows(draft) }, (_, index) => {
    const volume = draft[mountField(index, 'volume')] ?? ''
    const path = draft[mountField(index, 'path')]?.trim() || usualPath(volume)
    return { index, mount: { volume, path, readOnly: draft[mountField(index, 'readOnly')] !== undefined } }
  }).filter(({ mount }) => mount.volume !== '')
}

export interface RetryDefaults {
  /** The defaults as texts of the form. */
  draft: Draft
  /** The scopes that set them, widest first: `the cluster`, `project research`. */
  from: string[]
}

/** The retry defaults of a project: for each field, those of the narrowest scope that sets it. */
export function defaultsOf({ retryDefaults, projects }: UiNewSessionQuery, project: string): RetryDefaults {
  const domain = projects.edges.find(({ node }) => node.name === project)?.node.domain
  const names = { CLUSTER: null, DOMAIN: domain, PROJECT: project }
  const own = retryDefaults.filter(({ scope, name, policy }) => policy !== null && name === names[scope])
  return {
    draft: Object.assign({}, ...own.map(({ policy }) => draftOfPolicy(policy as SetPolicy))) as Draft,
    from: own.map(({ scope, name }) => (scope === 'CLUSTER' ? 'the cluster' : `${scope.toLowerCase()} ${name}`)),
  }
}

/** The same fields with these defaults instead of the built-in ones. */
export function withDefaults(sections: readonly Section[], defaults: Draft): Section[] {
  return sections.map(([title, fields]) => [
    title,
    fields.map((field) => {
      const standard = field.kind === 'causes' ? undefined : defaults[field.name]
      return standard === undefined ? field : { ...field, standard }
    }),
  ])
}

const KEPT = 'reprise-new-'

/** The draft that was typed in this tab and not sent, without its secrets. */
export function keptDraft(what: string): Draft {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEPT + what) ?? '{}')
    const entries = Object.entries(kept as Record<string, unknown>)
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch {
    // The draft comes from another version.
    return {}
  }
}

export function keepDraft(what: string, draft: Draft): void {
  const open = Object.entries(draft).filter(([field]) => !isSecret(field))
  if (open.length === 0) sessionStorage.removeItem(KEPT + what)
  else sessionStorage.setItem(KEPT + what, JSON.stringify(Object.fromEntries(open)))
}
