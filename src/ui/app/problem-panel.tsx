import { problemOf } from '../api/problem.ts'
import { Button } from '../design/button.tsx'
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
