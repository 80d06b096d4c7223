import { Button } from '../../design/button.tsx'
import type { ChainsSearch } from './chains-search.ts'
import { useChangeSearch } from './use-change-search.ts'
import '../../design/panel.css'

const FIRST = `npx reprise run --name first --retries 3 --retry-delay 5s -- \\
  sh -c 'echo attempt $REPRISE_ATTEMPT; test $REPRISE_ATTEMPT -ge 3'
npx reprise chains`

/** Why there is nothing, and what next. */
export function Empty({ search }: { search: ChainsSearch }) {
  const change = useChangeSearch()
  const { order: _, dropped: __, ...narrowing } = search
  const filters = Object.entries(narrowing).filter(([, value]) => value !== undefined)
  if (filters.length > 0) {
    return (
      <div className="empty">
        <h2>No chain fits</h2>
        <p>Take away what leaves out too much:</p>
        <div className="empty-filters">
          {filters.map(([name, value]) => (
            <Button key={name} className="chip" onClick={() => change({ [name]: undefined })}>
              <span>
                {name === 'q' ? 'search' : name} {value}
              </span>
            </Button>
          ))}
        </div>
        {filters.length > 1 && (
          <Button kind="quiet" onClick={() => change(Object.fromEntries(filters.map(([name]) => [name, undefined])))}>
            All of them
          </Button>
        )}
      </div>
    )
  }
  return (
    <div className="empty">
      <h2>No chains yet</h2>
      <p>A chain is one piece of work with all its attempts. This one fails twice and succeeds on its third:</p>
      <pre className="empty-command">{FIRST}</pre>
      <Button onClick={() => void navigator.clipboard.writeText(FIRST)}>Copy</Button>
    </div>
  )
}
