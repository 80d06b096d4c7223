import { InvalidArgumentError, type Command } from 'commander'
import type { CreateDeploymentInput, MountInput, UpdateDeploymentInput } from '../../client/node/index.ts'
import {
  addMountOption,
  addPlaceOptions,
  IMAGE_OPTION,
  named,
  ofCaller,
  gpusOf,
  secretsOf,
  slotsOf,
  type SpecOptions,
} from '../options/session-options.ts'
import { nullForNone, orNone, pairs, seconds, wholeNumber, type None } from '../options/values.ts'

/** Settings of a deployment's routes; durations in seconds. */
export interface ServiceOptions extends Omit<SpecOptions, 'timeout'> {
  image?: string
  label?: [string, string][]
  agentLabel?: [string, string][]
  mount?: MountInput[]
  portVariable?: string
  healthPath?: string
  healthInterval?: number
  healthTimeout?: number
  healthyAfter?: number
  unhealthyAfter?: number
  initialDelay?: number
  staleAfter?: number
  startTimeout?: number
  evictAfter?: number
  drain?: number
}

export function addServiceOptions(command: Command): Command {
  addMountOption(addPlaceOptions(command.optionsGroup('Program:')))
    .option('--image <image>', IMAGE_OPTION)
    .option('-l, --label <key=value>', 'label; may be repeated', pairs)
    .option('--agent-label <key=value>', 'label that an agent must have; may be repeated', pairs)
    .option('--port-variable <name>', "environment variable that holds the program's port (default: PORT)")
  return command
    .optionsGroup('Health:')
    .option('--health-path <path>', 'path to request (default: /)', path)
    .option('--health-interval <duration>', 'time between two checks (default: 5s)', seconds)
    .option('--health-timeout <duration>', 'timeout of a check (default: 2s)', seconds)
    .option('--healthy-after <n>', 'consecutive successes that make a route healthy (default: 1)', wholeNumber)
    .option('--unhealthy-after <n>', 'consecutive failures that make a route unhealthy (default: 3)', wholeNumber)
    .option('--initial-delay <duration>', 'time from the start to the first check', seconds)
    .option('--stale-after <duration>', 'how long the result of a check is valid', seconds)
    .option('--start-timeout <duration>', 'time until the first success (default: 5m)', seconds)
    .option(
      '--evict-after <duration>',
      'how long a route may be unhealthy before it is replaced (default: 10s)',
      seconds,
    )
    .option(
      '--drain <duration>',
      'how long it keeps serving after its removal from service discovery (default: 2s)',
      seconds,
    )
}

/** Converts the options that were given to input; all others stay undefined. */
export function serviceInput(
  options: ServiceOptions,
  command: readonly string[],
): Omit<CreateDeploymentInput, 'name' | 'command'> & Omit<UpdateDeploymentInput, 'deploymentId'> {
  const { label, agentLabel, env } = options
  const healthCheck = {
    path: options.healthPath,
    interval: options.healthInterval,
    timeout: options.healthTimeout,
    healthyThreshold: options.healthyAfter,
    unhealthyThreshold: options.unhealthyAfter,
    initialDelay: options.initialDelay,
    staleAfter: options.staleAfter,
  }
  const checked = Object.values(healthCheck).some((value) => value !== undefined)
  return {
    ...(command.length > 0 && { command: ofCaller(command) }),
    image: options.image,
    environ: named(env),
    secretEnviron: secretsOf(options),
    resourceSlots: slotsOf(options),
    gpus: gpusOf(options),
    labels: label?.map(([key, value]) => ({ key, value })),
    agentLabels: agentLabel?.map(([key, value]) => ({ key, value })),
    mounts: options.mount,
    priority: options.priority,
    resourceGroup: options.resourceGroup,
    portVariable: options.portVariable,
    healthCheck: checked ? healthCheck : undefined,
    startTimeout: options.startTimeout,
    evictAfter: options.evictAfter,
    drain: options.drain,
  }
}

export interface RolloutOptions {
  minHealthy?: number | None
  maxSurge?: number | None
}

export function addRolloutOptions(command: Command): Command {
  return command
    .option(
      '--min-healthy <n>',
      'minimum number of healthy replicas during an update; none: three quarters',
      orNone(wholeNumber),
    )
    .option(
      '--max-surge <n>',
      'maximum number of extra replicas during an update; none: a quarter',
      orNone(wholeNumber),
    )
}

export function rolloutInput({ minHealthy, maxSurge }: RolloutOptions) {
  return { minHealthy: nullForNone(minHealthy), maxSurge: nullForNone(maxSurge) }
}

function path(text: string): string {
  if (!text.startsWith('/')) throw new InvalidArgumentError('It is not a path, like /healthz.')
  return text
}
