import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { polls } from '../api/poll.ts'
import { problemOf } from '../api/problem.ts'
import { useStore } from '../api/store.ts'
import { Button } from '../design/controls.tsx'
import './app.css'

/** Shown in place of a part that could not be read: the server's message, and the request id for its operator. */
export function ProblemPanel({ error, onAgain }: { error: unknown; onAgain: () => void }) {
  const { message, code, requestId } = problemOf(error)
  return (
    <div className="problem-panel" role="alert">
      <h2>This could not be read</h2>
      <p>{message}</p>
      {(code !== null || requestId !== null) && (
        <p className="problem-details">
          {code !== null && <code>{code}</code>}
          {requestId !== null && (
            <>
              {' request '}
              <code>{requestId}</code>{' '}
              <Button kind="quiet" onClick={() => void navigator.clipboard.writeText(requestId)}>
                Copy
              </Button>
            </>
          )}
        </p>
      )}
      <Button onClick={onAgain}>Try again</Button>
    </div>
  )
}

/** Shown for things that do not exist and for those that the user may not see; the API does not tell them apart. */
export function NotFound() {
  useTitle('Nothing here')
  return (
    <div className="problem-panel">
      <h1 tabIndex={-1}>Nothing here</h1>
      <p>There is no such page, or its subject does not exist or is hidden from you.</p>
      <Link to="/chains" className="button">
        To the chains
      </Link>
    </div>
  )
}

/** A notice above older data, where the last read failed. Once the whole page is stale, the frame has a notice. */
export function Outdated({ error }: { error: Error | null | undefined }) {
  const { stale } = useStore(polls)
  if (!error || stale) return null
  return (
    <p className="notice" role="status">
      This is no longer up to date: {problemOf(error).message}
    </p>
  )
}

/** Sets the title of the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Reprise`
  }, [title])
}
