import { Link } from '@tanstack/react-router'
import '../app.css'

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
