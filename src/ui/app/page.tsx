import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { problemOf } from '../api/problem.ts'
import { Button } from '../design/controls.tsx'
import './app.css'

/** In the place of the part that could not be read: the server's sentence, and what to tell whoever runs it. */
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

/** For what is not there and for what is not yours alike, as the API has it. */
export function NotFound() {
  return (
    <div className="problem-panel">
      <h1 tabIndex={-1}>Nothing here</h1>
      <p>There is no such page, or what it shows does not exist or is not yours to see.</p>
      <Link to="/chains" className="button">
        To the chains
      </Link>
    </div>
  )
}

/** Above what was read before the last read failed. */
export function Outdated({ error }: { error: Error | null | undefined }) {
  if (!error) return null
  return (
    <p className="notice" role="status">
      This is no longer up to date: {problemOf(error).message}
    </p>
  )
}

/** Names the tab of the browser; undefined leaves it as it is. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · Reprise`
  }, [title])
}
