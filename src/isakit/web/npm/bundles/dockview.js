// What the panes use of dockview.
export {createDockview} from "dockview-core";
