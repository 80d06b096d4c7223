import { existsSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { basename, isAbsolute, resolve } from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import type { ClusterMode, CreateSessionInput, MountInput, OutputsWhen, SessionType } from '../../client/node/index.ts'
import { collect } from '../client-command.ts'
import { addPolicyOptions, readPolicy, type PolicyOptions } from './policy-options.ts'
import {
  choice,
  decimal,
  future,
  type JobArray,
  jobArray,
  nullForNone,
  orNone,
  pair,
  pairs,
  seconds,
  wholeNumber,
  failedLimit,
  type FailedLimit,
} from './values.ts'
import { API_ENUMS } from './api-enums.generated.ts'

export interface SessionOptions extends PolicyOptions, SpecOptions, AgentOptions {
  name?: string
  project?: string
  image?: string
  clusterSize?: number
  clusterMode?: ClusterMode
  type?: SessionType
  label?: [string, string][]
  gpuIdleTimeout?: number
  onHang?: string
  neverRunTwice?: true
  agentLabel?: [string, string][]
  executorOption?: [string, string][]
  mount?: MountInput[]
  output?: string[]
  outputWhen?: OutputsWhen
  outputKeepDays?: number
  outputInPlace?: true
  group?: string
  afterGroup?: string[]
  maxFailed?: FailedLimit
  minSucceeded?: number
  onFailure?: 'LET_RUN' | 'STOP'
  input?: InputOption[]
  maxPending?: number
  startsAt?: string
  stopGrace?: number
  /** Ids or names of sessions; `sessionInput` expects ids. */
  dependsOn?: string[]
  concurrencyKey?: string
  concurrencyLimit?: number
  creationId?: string
  file?: string
  /** Variables to copy from here, each the name or the beginning of names; `none` copies none by itself. */
  envFrom?: string[]
  /** Files and directories to upload. */
  upload?: string[]
  /** Upload standard input, too. */
  stdin?: boolean
  /** SHA-256 of the archive of these files, once it is uploaded. */
  codeSha256?: string
  array?: JobArray
}

export interface SlotOptions {
  slot?: [string, string][]
  cpu?: string
  mem?: string
  gpus?: GpusOption
  /** `none` removes the condition. */
  gpuMemory?: string
}

/** GPUs as `--gpus` takes them: their number, and a part of their model's name. */
interface GpusOption {
  count: string
  model: string | null
}

/** Options that a resubmission may override, too. */
export interface SpecOptions extends SlotOptions {
  env?: [string, string][]
  secret?: [string, string][]
  secretFile?: [string, string][]
  timeout?: number
  priority?: number
  resourceGroup?: string
}

/** Options that restrict the agents that may run it. */
export interface AgentOptions {
  allowAgent?: string[]
  avoidAgent?: string[]
  excludeAgent?: string[]
}

export function addAgentOptions(command: Command): Command {
  return command
    .option('--allow-agent <agent>', 'the only agents to run on; may be repeated', collect)
    .option('--avoid-agent <agent>', 'agents to use only if no other fits; may be repeated', collect)
    .option('--exclude-agent <agent>', 'agents never to run on; may be repeated', collect)
}

export function agentLists({ allowAgent, avoidAgent, excludeAgent }: AgentOptions) {
  return { allowAgents: allowAgent, avoidAgents: avoidAgent, excludeAgents: excludeAgent }
}

export function addSpecOptions(command: Command): Command {
  return addPlaceOptions(command).option('--timeout <duration>', 'batch timeout', seconds)
}

/** Adds options for the environment of its processes, and for the place where they run. */
export function addPlaceOptions(command: Command): Command {
  command
    .option('-e, --env <name=value>', 'environment variable; NAME alone copies its value from here', variable)
    .option('--secret <name>', 'secret variable, with its value from here; may be repeated', secret)
    .option(
      '--secret-file <name=path>',
      'secret variable with its value from a file, or - for standard input',
      secretFile,
    )
  return addSlotOptions(command)
    .option('--priority <n>', 'priority, 0 to 100; higher ones are scheduled first', wholeNumber)
    .option('--resource-group <group>', 'resource group to run in')
}

export function addSlotOptions(command: Command): Command {
  return command
    .option('--slot <slot=amount>', 'resource slot, like cuda.device=1', pairs)
    .option('--cpu <amount>', 'the same as --slot cpu=…', amount)
    .option('--mem <amount>', 'the same as --slot mem=…; like 512m or 1.5 GiB', amount)
    .option('--gpus <[model:]n>', 'GPUs, like 2 or a100:2; for those of AMD use --slot rocm.device=…', gpus)
    .option('--gpu-memory <amount>', 'memory that each GPU must have at least, like 40g; none: any', orNone(amount))
}

/** Description of `--image`. The executor of the agents decides what an image is. */
export const IMAGE_OPTION = 'container image; for agents without containers: sh, bash, node or python3'

export function addMountOption(command: Command): Command {
  const what = 'volume to mount, like data:/data:ro; may be repeated; none: no volume'
  return command.option('--mount <volume:path[:ro]>', what, mountsOrNone)
}

export function addUploadOption(command: Command): Command {
  const what = 'files or directories to upload, without those that .gitignore excludes; may be repeated'
  return command.option('--upload <path>', what, collect)
}

/** Adds options for the command to run. All runs of a schedule share them. */
export function addTemplateOptions(command: Command): Command {
  command
    .optionsGroup('Session:')
    .option('-n, --name <name>', 'name of the session (default: the name of the program)')
    .option('-p, --project <project>', 'project (default: the only one of the token, or default)')
  return addMountOption(addUploadOption(addAgentOptions(addSpecOptions(command))))
    .option('--output <pattern>', 'files to collect at the end, like results/**; ! excludes; may be repeated', collect)
    .addOption(choice('--output-when <when>', 'attempts to collect them from (default: always)', API_ENUMS.OutputsWhen))
    .option('--output-keep-days <days>', 'days to keep them', decimal)
    .option('--output-in-place', "leave them on the agent's disk, and only list them")
    .option('--gpu-idle-timeout <duration>', 'how long its GPUs may be idle before it has failed, like 30m', seconds)
    .option('--on-hang <command>', 'what runs in it before it is stopped without progress, like "pkill -QUIT java"')
    .option('--never-run-twice', 'once its start was ordered, nothing starts it again, whatever fails')
    .option('--agent-label <key=value>', 'label that an agent must have; may be repeated', pairs)
    .option('--executor-option <key=value>', 'executor option, like partition=gpu; may be repeated', pairs)
    .option('--image <image>', IMAGE_OPTION)
    .option('-l, --label <key=value>', 'label; may be repeated', pairs)
    .option('--cluster-size <n>', 'number of kernels', wholeNumber)
    .addOption(choice('--cluster-mode <mode>', 'how the kernels are distributed over agents', API_ENUMS.ClusterMode))
    .addOption(choice('--type <type>', 'kind of session; only batch sessions are retried', API_ENUMS.SessionType))
    .option('--stop-grace <duration>', 'time between asking its processes to stop and killing them, like 5m', seconds)
    .option('--max-pending <duration>', 'how long it may wait for resources before it has failed', seconds)
    .option('--concurrency-key <key>', 'sessions with this key run one at a time')
    .option('--concurrency-limit <n>', 'maximum number of sessions with that key at a time (default: 1)', wholeNumber)
}

export function addSessionOptions(command: Command): Command {
  addTemplateOptions(command)
    .option('--starts-at <time>', 'earliest start; a time or a duration from now', future)
    .option(
      '--depends-on <session>',
      'id or name of a session whose chain must succeed first; may be repeated',
      collect,
    )
    .option(
      '--input <session[:directory]>',
      'outputs of another session to find in the working directory, or in a directory of it; may be repeated',
      inputFrom,
    )
    .option('--creation-id <id>', 'idempotency key: repeating it returns the same session')
    .option(
      '--file <path>',
      'sessions as JSON Lines or YAML, `-` for standard input; options apply to fields that it leaves out',
    )
    .option(
      '--array <numbers>',
      'one session for each number, like 1-100, 1,5,9 or 0-90:10; {i} is replaced by it; %4: at most 4 run at a time',
      jobArray,
    )
    .option('--group <key>', 'make them a group, which succeeds or fails as one; repeating it returns the same group')
    .option(
      '--after-group <group>',
      'the group waits for the success of this one; with `:ended` for its end, with `:same-index` each member for its like; may be repeated',
      collect,
    )
    .option('--max-failed <n or n%>', 'the group fails with this many failed members, like 5 or 5%', failedLimit)
    .option('--min-succeeded <n>', 'the group succeeds with this many members, and cancels the rest', wholeNumber)
    .addOption(choice('--on-failure <what>', 'running members of a group that has failed', API_ENUMS.SessionGroupRest))
    .option(
      '--env-from <names>',
      'variables to copy from here if they are set, like PATH,OMP_*; may be repeated; none: not even those of a venv',
      namesToCopy,
    )
    .option('--stdin', 'read standard input to its end, and pass it to the program in each attempt')
  return addPolicyOptions(command)
}

/**
 * Creates the input from the options and the command. Without a command (jobs of a file may have their own), the input
 * has no command, and a name only if one is given.
 */
export function sessionInput(options: SessionOptions, command: readonly string[]): Partial<CreateSessionInput> {
  const { env, label, agentLabel, timeout, startsAt, dependsOn, creationId } = options
  const { concurrencyKey, concurrencyLimit } = options
  return {
    name: options.name ?? (command.length > 0 ? basename(command[0]!) : undefined),
    command: commandOf(options, command),
    codeSha256: options.codeSha256,
    project: options.project,
    image: options.image,
    environ: named(env),
    secretEnviron: secretsOf(options),
    labels: label?.map(([key, value]) => ({ key, value })),
    resourceSlots: slotsOf(options),
    gpus: gpusOf(options),
    batchTimeout: timeout,
    gpuIdleTimeout: options.gpuIdleTimeout,
    onHang: options.onHang === undefined ? undefined : ['sh', '-c', options.onHang],
    neverRunTwice: options.neverRunTwice,
    stopGrace: options.stopGrace,
    maxPending: options.maxPending,
    priority: options.priority,
    resourceGroup: options.resourceGroup,
    ...agentLists(options),
    agentLabels: agentLabel?.map(([key, value]) => ({ key, value })),
    executorOptions: options.executorOption?.map(([key, value]) => ({ key, value })),
    mounts: options.mount,
    outputs: outputsOf(options),
    inputs: options.input?.map(({ from, to }) => ({ from, to })),
    clusterSize: options.clusterSize,
    clusterMode: options.clusterMode,
    sessionType: options.type,
    startsAt,
    dependsOn,
    concurrencyKey,
    concurrencyLimit,
    creationId,
    retryPolicy: readPolicy(options),
  }
}

/** What the GPUs must be like; their number is a slot. */
export function gpusOf({ gpus: wanted, gpuMemory }: SlotOptions) {
  const model = wanted?.model ?? undefined
  const memory = nullForNone(gpuMemory)
  return model === undefined && memory === undefined ? undefined : { model, memory }
}

function outputsOf({ output: paths, outputWhen: when, outputKeepDays: keepDays, outputInPlace }: SessionOptions) {
  return paths === undefined ? undefined : { paths, when, keepDays, inPlace: outputInPlace }
}

/** A session, by id or name, whose outputs a session receives, and the directory for them. */
export interface InputOption {
  from: string
  to?: string | undefined
}

function inputFrom(text: string, earlier: InputOption[] = []): InputOption[] {
  const [from, to, ...more] = text.split(':')
  if (!from || to === '' || more.length > 0)
    throw new InvalidArgumentError('It is not like SESSION or SESSION:DIRECTORY.')
  return [...earlier, { from, to }]
}

/**
 * Returns the command. It is unchanged if files are uploaded, because they have the same relative paths in the kernel's
 * working directory.
 */
function commandOf({ upload }: SessionOptions, command: readonly string[]): string[] | undefined {
  if (command.length === 0) return undefined
  return upload === undefined ? ofCaller(command) : [...command]
}

/**
 * Replaces a program that is named relative to the caller's directory by its full path, if it exists: a kernel starts
 * in an empty directory.
 */
export function ofCaller([program, ...rest]: readonly string[]): string[] {
  const file = program!.includes('/') && !isAbsolute(program!) ? resolve(program!) : null
  return [file !== null && existsSync(file) ? file : program!, ...rest]
}

export function named(env: SpecOptions['env']) {
  return env?.map(([name, value]) => ({ name, value }))
}

export function secretsOf({ secret: here = [], secretFile: files = [] }: SpecOptions) {
  const all = [...here, ...files]
  return all.length === 0 ? undefined : named(all)
}

export function slotsOf({ slot = [], cpu, mem, gpus: wanted }: SlotOptions) {
  const short = Object.entries({ cpu, mem, 'cuda.device': wanted?.count })
  const all = [...slot, ...short.filter(([, value]) => value !== undefined)]
  return all.length === 0 ? undefined : all.map(([name, value]) => ({ slot: name, amount: String(value) }))
}

export function mounts(text: string, earlier: MountInput[] = []): MountInput[] {
  const [volume, path, mode, ...more] = text.split(':')
  if (!volume || !path || more.length > 0 || (mode !== undefined && mode !== 'ro')) {
    throw new InvalidArgumentError('It is not like VOLUME:PATH or VOLUME:PATH:ro.')
  }
  return [...earlier, { volume, path, readOnly: mode === 'ro' }]
}

/** Parses volumes; `none` lets an update remove all of them. */
function mountsOrNone(text: string, earlier?: MountInput[]): MountInput[] {
  return text === 'none' ? [] : mounts(text, earlier)
}

/** Parses `2` and `a100:2`. @throws InvalidArgumentError */
export function gpus(text: string): GpusOption {
  const [, model = null, count] = /^(?:([^:]+):)?(\d+(?:\.\d+)?)$/.exec(text) ?? []
  if (count === undefined) throw new InvalidArgumentError('It is not a number of GPUs, like 2 or a100:2.')
  return { count, model }
}

function amount(text: string): string {
  decimal(text.replace(/\s*[kmgt](ib?)?$/i, ''))
  return text
}

function variable(text: string, earlier: [string, string][] = []): [string, string][] {
  return text.includes('=') ? pairs(text, earlier) : [...earlier, present(text)]
}

function namesToCopy(text: string, earlier: string[] = []): string[] {
  const names = text.split(',').map((name) => name.trim())
  const wrong = names.find((name) => !/^[A-Za-z_][\w.]*\*?$/.test(name))
  if (wrong !== undefined)
    throw new InvalidArgumentError(`"${wrong}" is not the name of a variable, or its beginning and *.`)
  return [...earlier, ...names]
}

/**
 * Reads a secret. It is never taken from the arguments: every user of this machine can read them, and the shell's
 * history stores them.
 */
function secret(text: string, earlier: [string, string][] = []): [string, string][] {
  if (!text.includes('=')) return [...earlier, present(text)]
  const name = text.slice(0, text.indexOf('='))
  throw new InvalidArgumentError(
    `Other users can read arguments: export ${name} and use --secret ${name}, or --secret-file.`,
  )
}

function secretFile(text: string, earlier: [string, string][] = []): [string, string][] {
  const [name, path] = pair(text)
  try {
    return [...earlier, [name, readFileSync(path === '-' ? 0 : path, 'utf8').replace(/\r?\n$/, '')]]
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

function present(name: string): [string, string] {
  const value = process.env[name]
  if (value === undefined) throw new InvalidArgumentError(`The variable ${name} is not set here.`)
  return [name, value]
}
