import { useState } from 'react'
import { useQuery } from 'urql'
import { mountWords } from '../../words/mount.ts'
import { lookOfCause } from '../../design/causes.ts'
import { amountWords, gpuWords } from '../../words/numbers.ts'
import { duration } from '../../words/time.ts'
import { UiSpecDocument, type UiSpecQuery } from './chain.generated.ts'

type Spec = NonNullable<UiSpecQuery['session']>

/** The attempt's specification and its retry policy. */
export function SpecTab({ sessionId }: { sessionId: string }) {
  const [{ data, error }] = useQuery({ query: UiSpecDocument, variables: { sessionId } })
  if (error)
    return (
      <p className="chain-empty" role="alert">
        {error.message}
      </p>
    )
  const spec = data?.session
  if (!spec) return <div className="skeleton skeleton-rows" aria-busy="true" />
  return (
    <div className="tab-pad">
      <pre className="command">{spec.command.map(quoted).join(' ')}</pre>
      <dl className="facts-list">
        {rowsOf(spec).map(([name, value]) => (
          <Row key={name} name={name} value={value} />
        ))}
      </dl>
      <h3>Retries</h3>
      <dl className="facts-list">
        {policyRows(spec.retryPolicy).map(([name, value]) => (
          <Row key={name} name={name} value={value} />
        ))}
      </dl>
      {spec.environ.length + spec.secretEnviron.length > 0 && (
        <>
          <h3>Environment</h3>
          <dl className="facts-list">
            {spec.environ.map(({ name, value }) => (
              <Variable key={name} name={name} value={value} />
            ))}
            {spec.secretEnviron.map((name) => (
              <Row key={name} name={name} value="secret" />
            ))}
          </dl>
        </>
      )}
    </div>
  )
}

function Row({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  )
}

/** A variable's value, masked until the user shows it. */
function Variable({ name, value }: { name: string; value: string }) {
  const [isShown, setIsShown] = useState(false)
  return (
    <>
      <dt className="mono">{name}</dt>
      <dd className="mono">
        {isShown ? value : '••••••'}{' '}
        <button
          type="button"
          className="tool"
          aria-label={`${isShown ? 'Hide' : 'Show'} ${name}`}
          onClick={() => setIsShown(!isShown)}
        >
          {isShown ? 'hide' : 'show'}
        </button>
      </dd>
    </>
  )
}

function rowsOf(spec: Spec): [string, string][] {
  const { progressTimeout: progress } = spec.retryPolicy
  const agents = [spec.allowAgents, spec.avoidAgents, spec.excludeAgents].map(({ length }) => length)
  const rows: [string, string | null | false][] = [
    ['image', spec.image],
    ['image digest', digestWords(spec)],
    ['resources', spec.resourceSlots.map(({ slot, amount }) => `${slot} ${amountWords(slot, amount)}`).join(', ')],
    ['GPUs', spec.requiredGpus && gpuWords(spec.requiredGpus)],
    ['kernels', spec.clusterSize > 1 && `${spec.clusterSize}, ${spec.clusterMode.toLowerCase().replace('_', ' ')}`],
    ['resource group', spec.resourceGroup.name],
    ['priority', String(spec.priority)],
    ['timeout', spec.batchTimeout === null ? 'none' : duration(spec.batchTimeout)],
    ['no progress for', progress !== null && `at most ${duration(progress)}`],
    ['before that stop', spec.onHang.join(' ')],
    ['never run twice', spec.neverRunTwice && 'once its start was ordered, nothing starts it again'],
    ['may wait', spec.maxPending === null ? null : duration(spec.maxPending)],
    [
      'agents',
      agents.some((count) => count > 0) && `${agents[0]} allowed, ${agents[1]} avoided, ${agents[2]} excluded`,
    ],
    ['agent labels', spec.agentLabels.map(({ key, value }) => `${key}=${value}`).join(', ')],
    ['volumes', spec.mounts.map(mountWords).join('; ')],
    ['executor options', spec.executorOptions.map(({ key, value }) => `${key}=${value}`).join(', ')],
    [
      'at once',
      spec.concurrencyKey !== null && `${spec.concurrencyLimit} of those with the key ${spec.concurrencyKey}`,
    ],
    ['creation id', spec.creationId],
    ['session', spec.sessionId],
  ]
  return rows.filter((row): row is [string, string] => Boolean(row[1]))
}

/** The digest of the image that ran or has to run; and whether the attempt before had another one. */
function digestWords({ imageDigest, requiredImageDigest, parentSession }: Spec): string | null {
  if (imageDigest === null) return requiredImageDigest && `${requiredImageDigest}, as before`
  const before = parentSession?.imageDigest ?? null
  return before === null || before === imageDigest
    ? imageDigest
    : `${imageDigest}, another image than before: ${before}`
}

function policyRows(policy: Spec['retryPolicy']): [string, string][] {
  const growth = policy.backoff === 'EXPONENTIAL' ? `, then × ${policy.backoffMultiplier}` : ''
  return [
    ['retries', String(policy.maxRetries)],
    [
      'delay',
      policy.delays?.map((delay) => duration(delay)).join(', ') ??
        `${duration(policy.retryDelay)}${growth}${policy.maxRetryDelay === null ? '' : `, at most ${duration(policy.maxRetryDelay)}`}`,
    ],
    ['jitter', `${policy.jitter.toLowerCase()}${policy.jitter === 'NONE' ? '' : `, ratio ${policy.jitterRatio}`}`],
    ['eligible', policy.eligibleCauses.map((cause) => lookOfCause(cause).words).join(', ') || 'nothing'],
    ['rules', policy.rules.length === 0 ? 'none' : String(policy.rules.length)],
    ['within', policy.maxElapsed === null ? 'no limit' : duration(policy.maxElapsed)],
  ]
}

/** Quotes an argument for a shell. */
function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", String.raw`'\''`)}'`
}
