import type { Bar } from '../../timeline/bars.ts'
import { duration } from '../../words/duration.ts'
import type { Moments } from '../../words/moment.ts'
import type { UiDecisionFragment } from './chain.generated.ts'
import { DelayParts, decisionWords } from './decision-parts.tsx'
import '../../design/table.css'

/** Why there is another attempt, or none: with all that was weighed. */
export function DecisionTab({
  decision,
  bar,
  moments,
}: {
  decision: UiDecisionFragment | null
  bar: Bar
  moments: Moments
}) {
  if (decision === null)
    return (
      <p className="chain-empty">
        {bar.outcome === 'LIVE'
          ? 'It is decided when this attempt has ended.'
          : 'Nothing was decided about this attempt.'}
      </p>
    )
  const moment = (at: string | null) => (at === null ? '–' : moments.absolute(Date.parse(at)))
  return (
    <div className="tab-pad">
      <p className="decision-sentence">{decision.explanation}</p>
      <DelayParts decision={decision} />
      <dl className="facts-list">
        <dt>phase</dt>
        <dd>{decision.phase.toLowerCase().replace('_', ' ')}</dd>
        <dt>because</dt>
        <dd>{decisionWords(decision).join(', ')}</dd>
        <dt>decided</dt>
        <dd>{moment(decision.decidedAt)}</dd>
        <dt>due</dt>
        <dd>{moment(decision.dueAt)}</dd>
        <dt>dispatched</dt>
        <dd>{moment(decision.dispatchedAt)}</dd>
      </dl>
      {decision.holds.length > 0 && (
        <>
          <h3>Held</h3>
          <table className="record-table">
            <thead>
              <tr>
                <th scope="col">from</th>
                <th scope="col">for</th>
                <th scope="col">by</th>
              </tr>
            </thead>
            <tbody>
              {decision.holds.map((hold) => (
                <tr key={hold.from}>
                  <td className="nowrap">{moments.clock(Date.parse(hold.from))}</td>
                  <td className="nowrap">
                    {hold.to === null ? 'until now' : duration((Date.parse(hold.to) - Date.parse(hold.from)) / 1000)}
                  </td>
                  <td>{hold.reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </div>
  )
}
