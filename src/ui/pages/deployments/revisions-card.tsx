import { Ago } from '../../app/ago.tsx'
import { Button } from '../../design/button.tsx'
import { counted } from '../../words/count.ts'
import type { UiRevisionFragment } from './deployments.generated.ts'
import { revisionChanges } from './revision-changes.ts'
import type { DeploymentActions } from './use-deployment-actions.tsx'

/** What it was made from, the newest first, each with what it changed; the way back to an earlier one. */
export function RevisionsCard(props: {
  revisions: readonly UiRevisionFragment[]
  current: number
  hasMore: boolean
  actions: DeploymentActions
}) {
  const { revisions, current, hasMore, actions } = props
  return (
    <section className="card flush" aria-label="Revisions">
      <h2>
        Revisions <span className="card-count">{counted(revisions.length, 'revision')}</span>
      </h2>
      <ol className="revisions" reversed>
        {revisions
          .map((revision, index) => ({ revision, before: revisions[index - 1] }))
          .toReversed()
          .map(({ revision, before }) => (
            <li key={revision.id} className="revision">
              <span className="revision-number">{revision.number}</span>
              <div className="revision-words">
                <p>
                  {revision.number === current && <span className="revision-current">in use</span>}
                  {revision.createdBy !== null && `by ${revision.createdBy}, `}
                  <Ago at={revision.createdAt} />
                </p>
                {before === undefined ? (
                  <code className="revision-command">{revision.command.join(' ')}</code>
                ) : (
                  <ul className="revision-changes">
                    {changesOf(before, revision).map((each) => (
                      <li key={each}>{each}</li>
                    ))}
                  </ul>
                )}
              </div>
              {revision.number !== current && (
                <Button
                  aria-label={`Go back to revision ${revision.number}`}
                  aria-disabled={actions.whyNotChanged !== null || undefined}
                  title={actions.whyNotChanged ?? undefined}
                  onClick={() => actions.whyNotChanged === null && actions.ask({ what: 'rollBack', revision })}
                >
                  Go back…
                </Button>
              )}
            </li>
          ))}
      </ol>
      {hasMore && <p className="card-foot">These are its first hundred.</p>}
    </section>
  )
}

function changesOf(before: UiRevisionFragment, after: UiRevisionFragment): string[] {
  const changes = revisionChanges(before, after)
  // They are stored sealed: that one of them has another value cannot be seen.
  return changes.length > 0 ? changes : ['other values of secret variables']
}
