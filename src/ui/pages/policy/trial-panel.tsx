import { useEffect, useState } from 'react'
import { useClient } from 'urql'
import type { RetryPolicyInput } from '../../../client/schema-types.generated.ts'
import { problemOf } from '../../api/problem.ts'
import { AttemptLink } from '../../app/list/row-link.tsx'
import { lookOfCause } from '../../design/causes.ts'
import { FRESH } from '../../policy/read-preview.ts'
import { count, counted } from '../../words/numbers.ts'
import { duration } from '../../words/time.ts'
import { UiPolicyTrialDocument, type UiPolicyTrialQuery } from './policy.generated.ts'

type Trial = NonNullable<UiPolicyTrialQuery['retryPolicyPreview']['trial']>
type Tried = Trial['decisions'][number]

interface Props {
  /** The API's input. An unchanged policy must stay the same object. */
  policy: object
  project: string | undefined
}

/** Shows what the policy would have decided about the sessions that failed in the last seven days. */
export function TrialPanel({ policy, project }: Props) {
  const { trial, error } = useTrial(policy, project)
  return (
    <section className="policy-trial" aria-label="Trial">
      <div className="policy-part">
        <h2>What it would have decided</h2>
        <span className="policy-aside">about failures of the last 7 days</span>
      </div>
      {error !== null && <p className="policy-hint">{error}</p>}
      {error === null && trial === null && <p className="policy-hint">Reading …</p>}
      {error === null && trial !== null && <Decisions trial={trial} />}
    </section>
  )
}

function Decisions({ trial: { matched, tried, counts, decisions } }: { trial: Trial }) {
  if (tried === 0) return <p className="policy-hint">No session failed.</p>
  const rest = tried - decisions.length
  return (
    <>
      <p className="policy-verdict">
        {foldCounts(counts).map(([word, sessions], index) => (
          <span key={word}>
            {index > 0 && ', '}
            <strong>{count(sessions)}</strong> {word}
          </span>
        ))}
        {matched > tried && ` (the last ${count(tried)} of ${count(matched)})`}
      </p>
      <table className="trial-table">
        <thead>
          <tr>
            <th scope="col">Session</th>
            <th scope="col">Cause</th>
            <th scope="col">Decision</th>
            <th scope="col">Delay</th>
          </tr>
        </thead>
        <tbody>
          {decisions.map((each) => (
            <tr key={each.sessionId}>
              <th scope="row">
                <AttemptLink session={each} />
                <span className="trial-reason">{each.reason}</span>
              </th>
              <td>{each.cause === null ? '–' : lookOfCause(each.cause).words}</td>
              <td>{decisionWord(each)}</td>
              <td>{each.delaySeconds === null ? '–' : duration(each.delaySeconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rest > 0 && <p className="policy-hint">and {counted(rest, 'more session')}</p>}
    </>
  )
}

/** The number of sessions for each word, the largest first. */
function foldCounts(counts: Trial['counts']): [string, number][] {
  const sums = new Map<string, number>()
  for (const each of counts) sums.set(decisionWord(each), (sums.get(decisionWord(each)) ?? 0) + each.count)
  return [...sums].toSorted(([, one], [, other]) => other - one)
}

function decisionWord({ phase, counted: usesUp }: Pick<Tried, 'phase' | 'counted'>): string {
  if (phase === 'SCHEDULED') return usesUp ? 'retried' : 'retried uncounted'
  return phase === 'EXHAUSTED' ? 'exhausted' : 'not retried'
}

interface Answer {
  /** The last trial; it stays while the next one is read. */
  trial: Trial | null
  error: string | null
}

function useTrial(policy: object, project: string | undefined): Answer {
  const client = useClient()
  const [answer, setAnswer] = useState<Answer>({ trial: null, error: null })
  useEffect(() => {
    let left = false
    const filter = project === undefined ? null : { project }
    const variables = { policy: policy as RetryPolicyInput, filter }
    void client
      .query(UiPolicyTrialDocument, variables, FRESH)
      .toPromise()
      .then(({ data, error }) => {
        if (left) return
        const found = data?.retryPolicyPreview.trial
        setAnswer((last) =>
          found ? { trial: found, error: null } : { trial: last.trial, error: problemOf(error!).message },
        )
      })
    return () => {
      left = true
    }
  }, [client, policy, project])
  return answer
}
